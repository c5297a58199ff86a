import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";

/**
 * A model without thinking time, in a separate process: OpenAI's chat format, three turns per task (search, read the
 * first email found, answer). Run as a program: `model-server.ts [--latency MS] [--rpm N] [--pad CHARACTERS]`. Prints
 * its port. With `--rpm`, it refuses requests above N per minute (a bucket of ten seconds), with a Retry-After, and
 * `GET /figures` returns the accepted and refused requests per minute. `--pad` makes every reply that long. The server
 * also accepts spans, and drops them. `GET /calls` returns the number of requested tool calls and of started
 * conversations.
 */

const { values } = parseArgs({
  options: {
    latency: { type: "string", default: "0" },
    rpm: { type: "string" },
    pad: { type: "string", default: "0" },
  },
});
const latencyMs = Number(values.latency);
const perSecond = values.rpm === undefined ? Number.POSITIVE_INFINITY : Number(values.rpm) / 60;
const text = "thinking ".repeat(Math.ceil(Number(values.pad) / 9));

/** Per minute from the first request. */
const minutes: { taken: number; refused: number }[] = [];
let firstAt: number | null = null;
let bucket = perSecond * 10;
let filledAt = performance.now();

/** Seconds to wait, or 0 if the request is accepted. */
function admit(): number {
  const now = performance.now();
  firstAt ??= now;
  const minute = Math.floor((now - firstAt) / 60_000);
  while (minutes.length <= minute) minutes.push({ taken: 0, refused: 0 });
  const figures = minutes[minute] as { taken: number; refused: number };
  bucket = Math.min(perSecond * 10, bucket + ((now - filledAt) / 1_000) * perSecond);
  filledAt = now;
  if (bucket >= 1) {
    bucket--;
    figures.taken++;
    return 0;
  }
  figures.refused++;
  return (1 - bucket) / perSecond;
}

const server = createServer((request, response) => {
  if (request.url === "/figures") {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(minutes));
    return;
  }
  if (request.url === "/v1/traces") {
    request.resume().on("end", () => response.writeHead(200).end());
    return;
  }
  if (request.url === "/calls") {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ issued: calls, begun }));
    return;
  }
  let body = "";
  request.on("data", (chunk: Buffer) => {
    body += chunk.toString("latin1");
  });
  request.on("end", () => {
    const wait = perSecond === Number.POSITIVE_INFINITY ? 0 : admit();
    if (wait > 0) {
      const headers = { "content-type": "application/json", "retry-after": wait.toFixed(3) };
      response.writeHead(429, headers).end(JSON.stringify({ error: { message: "too many requests" } }));
      return;
    }
    const reply = JSON.stringify(completion(body));
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(reply) };
    const send = () => response.writeHead(200, headers).end(reply);
    if (latencyMs === 0) send();
    else setTimeout(send, latencyMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

/**
 * Searches for a few words instead of parsing, because the server shares its machine's cores with the measured program.
 * Quotes within a string are escaped, so that these words cannot occur there.
 */
function completion(body: string): unknown {
  const [asked = "", found = "", read] = body.split('"role":"tool"');
  const id = /<[^<>"\\]+>/.exec(found)?.[0] ?? "<none>";
  if (read !== undefined) return call("return_final_answer", { answer: "benchmark", sources: [id] });
  if (found !== "") return call("email_get", { message_id: id });
  const [system = "", user = '""}'] = asked.split('"role":"user","content":');
  const inbox = /[\w.+-]+@[\w.-]+\w/.exec(system)?.[0] ?? "";
  begun++;
  const question = JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(user)?.[0] ?? '""') as string;
  return call("email_search", { query: question, inbox_id: inbox });
}

/** Requested tool calls, and started conversations. */
let calls = 0;
let begun = 0;

function call(name: string, args: unknown) {
  const tool = { id: `call_${calls++}`, type: "function", function: { name, arguments: JSON.stringify(args) } };
  const message = { role: "assistant", content: text === "" ? null : text, tool_calls: [tool] };
  return {
    id: "chatcmpl-bench",
    object: "chat.completion",
    model: "bench",
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 },
  };
}
