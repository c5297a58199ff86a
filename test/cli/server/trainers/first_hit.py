"""A policy without a model: searches the question's words and answers from the first hit. Run as a program, it is an
agent for `art-e run --agent-command`; the stand-ins for trainers next to it use it as their model."""

import json
import re
import sys
import urllib.request


def answer_from(question, body):
    words = set(re.findall(r"\w+", question.lower()))
    sentences = re.split(r"(?<=[.!?])\s+", body)
    return max(sentences, key=lambda sentence: len(words & set(re.findall(r"\w+", sentence.lower()))))


def read_result(text):
    """Parses the result of a tool. Marks around it can say that it is data."""
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def next_call(question, results):
    """Returns the next tool and its arguments for the results of the previous calls, which are parsed JSON."""
    if not results:
        return "search", {"query": question}
    if len(results) == 1 and results[0].get("emails"):
        return "read", {"message_id": results[0]["emails"][0]["message_id"]}
    if len(results) == 2:
        mail = results[1]
        return "answer", {"answer": answer_from(question, mail["body"]), "sources": [mail["message_id"]]}
    return "answer", {"answer": "I don't know", "sources": []}


def tool_call(question, instructions, results):
    """Returns the same with the names of the agent's tools. The instructions name the mailbox."""
    kind, arguments = next_call(question, results)
    if kind == "search":
        arguments["inbox_id"] = re.search(r"[\w.]+@[\w.]+\w", instructions)[0]
    return {"search": "email_search", "read": "email_get", "answer": "return_final_answer"}[kind], arguments


def call(url, name, arguments):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))["result"]["structuredContent"]


def main():
    for line in sys.stdin:
        task = json.loads(line)
        results = []
        while True:
            kind, arguments = next_call(task["question"], results)
            if kind == "answer":
                break
            name = {"search": "email_search", "read": "email_get"}[kind]
            results.append(call(task["tools"]["mcp"]["url"], name, arguments))
        print(json.dumps({"id": task["id"], **arguments}), flush=True)


if __name__ == "__main__":
    main()
