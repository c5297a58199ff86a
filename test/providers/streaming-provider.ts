import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { WireFormat } from "./wire-request.js";

/**
 * A provider on 127.0.0.1 that streams, for tests over real HTTP. Its frames are written as each provider documents
 * them, and not with the code that reads them.
 */

/** One write to the connection: text, or bytes that might end within a character. */
export type Frame = string | Buffer;

export interface StreamScript {
  readonly frames: readonly Frame[];
  /** Milliseconds before each frame. */
  readonly everyMs?: number;
  /**
   * What follows the last frame. `destroy` resets the connection, `hang` keeps it open, and `repeat` sends the last
   * frame until the client disconnects.
   */
  readonly ending?: "end" | "destroy" | "hang" | "repeat";
}

/** A reply that is not a stream. */
export interface PlainScript {
  readonly status: number;
  readonly json: unknown;
}

export interface StreamingProvider {
  baseUrl(format: WireFormat): string;
  readonly requests: { readonly path: string; readonly headers: IncomingMessage["headers"]; readonly body: Body }[];
  /** Number of opened connections. */
  readonly connections: number;
  /** Replies whose client disconnected before their end. */
  readonly abandoned: number;
  close(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
type Body = any;

/** Replies to each request with the next script. The last one is repeated. */
export async function startStreamingProvider(
  scripts: readonly (StreamScript | PlainScript)[],
): Promise<StreamingProvider> {
  const requests: StreamingProvider["requests"] = [];
  let abandoned = 0;
  let connections = 0;
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    requests.push({ path: incoming.url ?? "", headers: incoming.headers, body });
    response.on("close", () => {
      if (!response.writableFinished && !response.errored) abandoned++;
    });
    const script = scripts[Math.min(requests.length, scripts.length) - 1];
    if (script !== undefined) await play(script, response);
  });
  server.on("connection", () => connections++);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl: (format) => (format.startsWith("openai") ? `${url}/v1` : url),
    requests,
    get connections() {
      return connections;
    },
    get abandoned() {
      return abandoned;
    },
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

async function play(script: StreamScript | PlainScript, response: ServerResponse): Promise<void> {
  if ("json" in script) {
    response.writeHead(script.status, { "content-type": "application/json" }).end(JSON.stringify(script.json));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const frame of script.frames) {
    await (script.everyMs === undefined ? setImmediate() : setTimeout(script.everyMs));
    if (response.destroyed) return;
    response.write(frame);
  }
  if (script.ending === "hang") return;
  if (script.ending === "repeat") {
    while (!response.destroyed) if (!response.write(script.frames.at(-1))) await setImmediate();
    return;
  }
  if (script.ending === "destroy") {
    // The last frame arrives before the reset.
    await setTimeout(20);
    response.socket?.resetAndDestroy();
  } else response.end();
}

/** Splits the bytes of a stream, which also splits characters and lines. */
export function splitBytes(frames: readonly Frame[], size: number): Buffer[] {
  const all = Buffer.concat(frames.map((frame) => Buffer.from(frame)));
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.subarray(i * size, (i + 1) * size));
}

/** A streamed reply: reasoning and text in parts, and calls with their arguments in parts. */
export interface StreamedReply {
  readonly reasoning?: readonly string[];
  readonly text?: readonly string[];
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: readonly string[] }[];
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: { readonly type: string; readonly [field: string]: unknown }) =>
  `event: ${value.type}\n${data(value)}`;

/** The frames of a reply with 100 input tokens and 20 output tokens. The last frames finish it. */
export const STREAMS: Record<WireFormat, (reply: StreamedReply) => { parts: string[]; finish: string[] }> = {
  anthropic({ reasoning = [], text = [], calls = [] }) {
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "fake-1",
      content: [],
      stop_reason: null,
    };
    const blocks = [
      ...(reasoning.length === 0
        ? []
        : [
            {
              start: { type: "thinking", thinking: "", signature: "" },
              deltas: [
                ...reasoning.map((thinking) => ({ type: "thinking_delta", thinking })),
                { type: "signature_delta", signature: "c2lnbmVk" },
              ],
            },
          ]),
      ...(text.length === 0
        ? []
        : [{ start: { type: "text", text: "" }, deltas: text.map((part) => ({ type: "text_delta", text: part })) }]),
      ...calls.map(({ id, name, args }) => ({
        start: { type: "tool_use", id, name, input: {} },
        deltas: ["", ...args].map((partial_json) => ({ type: "input_json_delta", partial_json })),
      })),
    ];
    return {
      parts: [
        named({
          type: "message_start",
          message: { ...message, usage: { input_tokens: 100, output_tokens: 1 } },
        }),
        named({ type: "ping" }),
        ...blocks.flatMap(({ start, deltas }, index) => [
          named({ type: "content_block_start", index, content_block: start }),
          ...deltas.map((delta) => named({ type: "content_block_delta", index, delta })),
          named({ type: "content_block_stop", index }),
        ]),
      ],
      finish: [
        named({
          type: "message_delta",
          delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
          usage: { output_tokens: 20 },
        }),
        named({ type: "message_stop" }),
      ],
    };
  },

  "openai-chat"({ reasoning = [], text = [], calls = [] }) {
    const chunk = (delta: object, finish_reason: string | null = null) =>
      data({
        id: "chatcmpl-1",
        object: "chat.completion.chunk",
        model: "fake-1",
        choices: [{ index: 0, delta, finish_reason }],
        usage: null,
      });
    return {
      parts: [
        ": keep-alive\n\n",
        chunk({ role: "assistant", content: "" }),
        ...reasoning.map((part) => chunk({ reasoning_content: part })),
        ...text.map((content) => chunk({ content })),
        ...calls.flatMap(({ id, name, args }, index) => [
          chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
          ...args.map((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
        ]),
      ],
      finish: [
        chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
        data({
          id: "chatcmpl-1",
          choices: [],
          usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
        }),
        "data: [DONE]\n\n",
      ],
    };
  },

  "openai-responses"({ reasoning = [], text = [], calls = [] }) {
    const thought = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "c2VhbGVk" };
    const said = {
      id: "item_1",
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: text.join(""), annotations: [] }],
    };
    const output = [
      ...(reasoning.length === 0 ? [] : [thought]),
      ...(text.length === 0 ? [] : [said]),
      ...calls.map(({ id, name, args }) => ({ type: "function_call", call_id: id, name, arguments: args.join("") })),
    ];
    const response = { id: "resp_1", model: "fake-1", status: "in_progress", output: [] };
    const deltasOf = (item: (typeof output)[number], output_index: number) => {
      if ("call_id" in item) {
        const args = calls.find(({ id }) => id === item.call_id)?.args ?? [];
        return args.map((delta) => named({ type: "response.function_call_arguments.delta", output_index, delta }));
      }
      return "summary" in item
        ? reasoning.map((delta) => named({ type: "response.reasoning_summary_text.delta", output_index, delta }))
        : text.map((delta) => named({ type: "response.output_text.delta", output_index, delta }));
    };
    return {
      parts: [
        named({ type: "response.created", response }),
        named({ type: "response.in_progress", response }),
        ...output.flatMap((item, output_index) => [
          named({
            type: "response.output_item.added",
            output_index,
            item: { ...item, arguments: "", content: [] },
          }),
          ...deltasOf(item, output_index),
          named({ type: "response.output_item.done", output_index, item }),
        ]),
      ],
      finish: [
        named({
          type: "response.completed",
          response: {
            ...response,
            status: "completed",
            output,
            usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
          },
        }),
      ],
    };
  },

  google({ reasoning = [], text = [], calls = [] }) {
    const chunk = (parts: readonly object[], others: object = {}) =>
      `data: ${JSON.stringify({
        candidates: [{ content: { role: "model", parts }, index: 0, ...others }],
        usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 },
        modelVersion: "fake-1",
        responseId: "g_1",
      })}\r\n\r\n`;
    return {
      parts: [
        ...reasoning.map((part) => chunk([{ text: part, thought: true }])),
        ...text.map((part) => chunk([{ text: part }])),
        ...calls.map(({ id, name, args }) => chunk([{ functionCall: { id, name, args: JSON.parse(args.join("")) } }])),
      ],
      finish: [chunk([{ text: "" }], { finishReason: "STOP" })],
    };
  },
};

/** An error event in the middle of a stream: the server is overloaded. */
export const ERROR_EVENTS: Record<WireFormat, string> = {
  anthropic: named({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  "openai-chat": data({
    id: "gen-1",
    error: { code: 503, message: "Overloaded" },
    choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
  }),
  "openai-responses": named({ type: "error", code: "server_is_overloaded", message: "Overloaded", param: null }),
  google: data({ error: { code: 503, message: "Overloaded", status: "UNAVAILABLE" } }),
};
