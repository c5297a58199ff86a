"""A complete agent: reads the first mail that the search finds, and answers with the sentence that fits best."""

import json, re, sys, urllib.request

def call(url, name, arguments):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))["result"]["structuredContent"]

for line in sys.stdin:
    task = json.loads(line)
    url = task["tools"]["mcp"]["url"]
    best = call(url, "email_search", {"query": task["question"]})["emails"][0]
    mail = call(url, "email_get", {"message_id": best["message_id"]})
    words = set(re.findall(r"\w+", task["question"].lower()))
    sentences = re.split(r"(?<=[.!?])\s+", mail["body"])
    answer = max(sentences, key=lambda s: len(words & set(re.findall(r"\w+", s.lower()))))
    print(json.dumps({"id": task["id"], "answer": answer, "sources": [mail["message_id"]]}), flush=True)
