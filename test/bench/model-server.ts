/**
 * A model that needs no time to think, in a process of its own: OpenAI's chat format, three turns a task (search, read the
 * first mail found, answer). Run as a program: model-server.ts LATENCY_MS; prints its port.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

const requestSchema = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string().nullish() })),
});

const latencyMs = Number(process.argv[2] ?? 0);

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk: Buffer) => {
    body += chunk.toString("latin1");
  });
  request.on("end", () => {
    const reply = JSON.stringify(completion(body));
    const send = () => response.writeHead(200, { "content-type": "application/json" }).end(reply);
    if (latencyMs === 0) send();
    else setTimeout(send, latencyMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

function completion(body: string): unknown {
  const { messages } = requestSchema.parse(JSON.parse(body));
  const results = messages.filter(({ role }) => role === "tool");
  const question = messages.find(({ role }) => role === "user")?.content ?? "";
  const id = /<[^<>"]+>/.exec(results[0]?.content ?? "")?.[0] ?? "<none>";
  if (results.length === 0) {
    const inbox = /[\w.+-]+@[\w.-]+\w/.exec(messages[0]?.content ?? "")?.[0] ?? "";
    return call("email_search", { query: question, inbox_id: inbox });
  }
  return results.length === 1
    ? call("email_get", { message_id: id })
    : call("return_final_answer", { answer: "benchmark", sources: [id] });
}

let calls = 0;

function call(name: string, args: unknown) {
  const tool = { id: `call_${calls++}`, type: "function", function: { name, arguments: JSON.stringify(args) } };
  const message = { role: "assistant", content: null, tool_calls: [tool] };
  return {
    id: "chatcmpl-bench",
    object: "chat.completion",
    model: "bench",
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 },
  };
}
