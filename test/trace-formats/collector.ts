import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import definitions from "@opentelemetry/otlp-transformer/build/src/generated/root.js";

/** A server that receives spans over HTTP and decodes them with OpenTelemetry's own protobuf definitions. */

interface MessageType {
  encode(value: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  // biome-ignore lint/suspicious/noExplicitAny: as the definitions decode it.
  toObject(message: object, options: object): any;
}

// biome-ignore lint/suspicious/noExplicitAny: the package declares no more than its root.
const messages = (definitions as any).opentelemetry.proto.collector.trace.v1;
const ExportTraceServiceRequest: MessageType = messages.ExportTraceServiceRequest;
const ExportTraceServiceResponse: MessageType = messages.ExportTraceServiceResponse;

export interface TakenRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: number;
  /** Decoded from JSON. */
  readonly json: unknown;
  /** Decoded from protobuf. */
  readonly spans: readonly DecodedSpan[];
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface DecodedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  readonly status?: { readonly code: number; readonly message: string };
}

/** The response to a request. `drop` closes the connection without a response. */
export type Answer =
  | "drop"
  | "hang"
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    };

export function partialSuccess(rejectedSpans: number, errorMessage: string): Answer {
  const body = ExportTraceServiceResponse.encode({ partialSuccess: { rejectedSpans, errorMessage } }).finish();
  return { status: 200, headers: { "content-type": "application/x-protobuf" }, body };
}

export class Collector {
  /** Requests answered with 200, in their order. */
  readonly taken: TakenRequest[] = [];
  /** Number of requests, regardless of their responses. */
  requests = 0;
  /** Responses to the next requests. Later requests get `always`. */
  answers: Answer[] = [];
  always: Answer = { status: 200 };

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Collector> {
    const server = createServer();
    const collector = new Collector(server);
    server.on("request", (request, response) => collector.answer(request, response));
    await once(server.listen(0, "127.0.0.1"), "listening");
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get spans(): DecodedSpan[] {
    return this.taken.flatMap(({ spans }) => spans);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, "close");
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Buffer.concat(chunks);
    const answer = this.answers.shift() ?? this.always;
    if (answer === "drop") return void request.socket.destroy();
    if (answer === "hang") return;
    if (answer.status === 200) this.taken.push(decode(request, sent));
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }
}

function decode({ url = "", headers }: IncomingMessage, sent: Buffer): TakenRequest {
  const bytes = headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
  const taken = { path: url, headers, bytes: bytes.length };
  if (headers["content-type"] === "application/json") {
    return { ...taken, json: JSON.parse(bytes.toString("utf8")), spans: [], resource: {} };
  }
  const message = ExportTraceServiceRequest.decode(bytes);
  const { resourceSpans } = ExportTraceServiceRequest.toObject(message, { longs: String, bytes: Buffer, arrays: true });
  // biome-ignore lint/suspicious/noExplicitAny: as the definitions decode it.
  const spans = resourceSpans.flatMap(({ scopeSpans }: any) => scopeSpans.flatMap((scope: any) => scope.spans));
  const resource = valuesOf(resourceSpans[0]?.resource?.attributes ?? []);
  return { ...taken, json: null, spans: spans.map(toSpan), resource };
}

// biome-ignore lint/suspicious/noExplicitAny: as the definitions decode it.
function toSpan({ traceId, spanId, parentSpanId, attributes, events, status, links: _, ...others }: any): DecodedSpan {
  const hex = (bytes: Buffer | undefined) => bytes?.toString("hex") ?? "";
  return {
    // Protobuf leaves out zero values.
    startTimeUnixNano: "0",
    endTimeUnixNano: "0",
    ...others,
    traceId: hex(traceId),
    spanId: hex(spanId),
    parentSpanId: hex(parentSpanId),
    attributes: valuesOf(attributes),
    ...(status ? { status: { code: status.code, message: status.message ?? "" } } : {}),
    // biome-ignore lint/suspicious/noExplicitAny: as the definitions decode it.
    events: events.map((event: any) => ({ timeUnixNano: "0", ...event, attributes: valuesOf(event.attributes) })),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: as the definitions decode it.
function valuesOf(attributes: any[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plainOf(value)]));
}

// biome-ignore lint/suspicious/noExplicitAny: as the definitions decode it.
function plainOf(value: any): unknown {
  const [plain] = Object.values(value ?? {}) as unknown[];
  return "arrayValue" in value ? value.arrayValue.values.map(plainOf) : plain;
}
