import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonValue } from "../../src/platform/json.js";

/** A server with the playground API on 127.0.0.1, well-behaved or not: `play` chooses a script for each request. */

export interface SeenChat {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: each test checks the fields that it reads.
  readonly body: any;
}

export type Script =
  /** Written one by one, each in a separate packet, followed by the end of the stream. */
  | { readonly chunks: readonly (string | Buffer)[]; readonly last?: "end" | "reset" | "hang" }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export interface FakePlayground {
  readonly url: string;
  readonly seen: readonly SeenChat[];
  /** Streams that have not been ended yet. */
  open(): number;
  close(): Promise<void>;
}

export async function startPlayground(play: (chat: SeenChat, number: number) => Script): Promise<FakePlayground> {
  const seen: SeenChat[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const chat = {
      path: request.url ?? "",
      headers: request.headers,
      body: JSON.parse(Buffer.concat(parts).toString("utf8")),
    };
    seen.push(chat);
    open.add(response);
    response.on("close", () => open.delete(response));
    await perform(response, play(chat, seen.length - 1));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    open: () => open.size,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function perform(response: ServerResponse, script: Script): Promise<void> {
  if ("status" in script) {
    response.writeHead(script.status, script.headers ?? {}).end(script.body ?? "");
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  for (const chunk of script.chunks) {
    if (response.destroyed) return;
    await new Promise<void>((resolve) => response.write(chunk, () => setImmediate(resolve)));
  }
  if (script.last === "hang") return;
  if (script.last === "reset") response.socket?.resetAndDestroy();
  else response.end();
}

export function frame(event: JsonValue): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

export const DONE = "data: [DONE]\n\n";

/** A complete answer: a search, an email, and the answer by tool or in text. */
export function answerFrames(answer: {
  text?: string;
  final?: { answer: string; sources: readonly string[] };
}): string[] {
  const call = (id: string, name: string, args: JsonValue, result: JsonValue) => [
    frame({ type: "tool-call", toolCallId: id, toolName: name }),
    frame({ type: "tool-call-args", toolCallId: id, args: JSON.stringify(args) }),
    frame({ type: "tool-call-end", toolCallId: id }),
    frame({ type: "tool-result", toolCallId: id, result }),
  ];
  const id = answer.final?.sources[0] ?? "<nothing@example>";
  return [
    frame({ type: "session-info", sessionId: "session_1", traceId: "trace_1" }),
    frame({ type: "message-start", messageId: "m1" }),
    frame({ type: "text-delta", text: "Let me look." }),
    ...call("c1", "email_search", { query: "x" }, { emails: [{ message_id: id, snippet: "…" }], total: 1 }),
    ...call("c2", "email_get", { message_id: id }, JSON.stringify({ message_id: id, body: "the mail" })),
    ...(answer.final === undefined ? [] : call("c3", "return_final_answer", answer.final, { accepted: true })),
    ...(answer.text === undefined ? [] : [...answer.text].map((text) => frame({ type: "text-delta", text }))),
    frame({ type: "finish", messageId: "m1" }),
    DONE,
  ];
}
