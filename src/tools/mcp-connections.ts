// Connections to MCP servers: lists and calls their tools, and reopens a lost connection.
import {
  Client,
  type JSONRPCMessage,
  ProtocolError,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { soundSchema } from "../models/tool-schemas.js";
import { untilAborted } from "../platform/deadline.js";
import { messageOf } from "../platform/errors.js";
import { isJsonObject, type JsonObject, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../platform/json.js";
import { lastOf, type ProgramStart, type SupervisedProcess, startSupervised } from "../platform/processes.js";
import { proxiedFetch } from "../platform/proxied-fetch.js";
import { followRedirects, REPEATING_REDIRECTS } from "../platform/redirects.js";
import { redact } from "../platform/secrets.js";
import {
  messagesIn,
  onlyMessages,
  withErrorAsAnswer,
  withErrorIgnored,
  withRepairedMessages,
} from "./mcp-connections/received-messages.js";

const scalarSchema = z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]);

const pageSchema = z.looseObject({
  tools: z.array(z.unknown()).catch([]),
  nextCursor: scalarSchema.nullish().catch(null),
});

/** Servers in several languages write null for absent fields. A tool without a schema has no parameters. */
const toolSchema = z.object({
  name: z.string().min(1).max(500),
  title: z.string().optional().catch(undefined),
  description: z.string().max(100_000).catch(""),
  inputSchema: jsonObjectSchema
    .transform(soundSchema)
    .catch({})
    .transform((schema): JsonObject => ({ type: "object", ...schema })),
  /** `required` means that the tool can only be called as an MCP task, whose result is polled. */
  execution: z.looseObject({ taskSupport: z.string().optional() }).optional().catch(undefined),
});

export type ServerTool = z.output<typeof toolSchema>;

type ServerAnswer = { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly error: string };

export type McpServer =
  | { readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/** Returns whether a tool can only be called as an MCP task. Such a tool rejects the direct calls made here. */
export function isTaskOnly({ execution }: ServerTool): boolean {
  return execution?.taskSupport === "required";
}

const MAX_PAGES = 100;

/**
 * Returns all tools of a server, each name once. Malformed entries are only counted. Some servers ignore the cursor and
 * would send the same page forever.
 */
export async function listServerTools(
  client: Client,
  signal: AbortSignal,
  timeout: number,
): Promise<{ tools: ServerTool[]; malformed: number }> {
  const tools = new Map<string, ServerTool>();
  let malformed = 0;
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: "tools/list", params }, pageSchema, { signal, timeout });
    for (const rawTool of answer.tools) {
      const tool = toolSchema.safeParse(rawTool);
      if (!tool.success) malformed++;
      else if (!tools.has(tool.data.name)) tools.set(tool.data.name, tool.data);
    }
    cursor = answer.nextCursor || undefined;
    if (cursor === undefined || cursors.has(cursor)) break;
    cursors.add(cursor);
  }
  return { tools: [...tools.values()], malformed };
}

const partSchema = z.union([
  scalarSchema.transform((text): JsonObject => ({ type: "text", text })),
  jsonObjectSchema,
  jsonValueSchema.transform((value): JsonObject => ({ value })),
]);

/** A result as servers send it. The SDK's schema rejects null, other types of content, and text instead of a list. */
const resultSchema = z.looseObject({
  content: z
    .union([z.array(partSchema), partSchema.transform((part) => [part])])
    .optional()
    .catch(undefined),
  structuredContent: jsonValueSchema.nullish(),
  isError: z.union([z.boolean(), z.stringbool()]).nullish().catch(null),
});

/**
 * Calls a server's tool. The value is the structured content, if any. Otherwise it is the text content, parsed if it is
 * JSON, or a result without content as it is. A placeholder replaces other content, such as images and audio.
 */
export async function callServerTool(
  client: Client,
  name: string,
  args: JsonObject,
  { signal, timeout }: { signal: AbortSignal; timeout: number },
): Promise<ServerAnswer> {
  const request = { method: "tools/call" as const, params: { name, arguments: args as Record<string, unknown> } };
  const { content, structuredContent, isError, ...others } = await client.request(request, resultSchema, {
    signal,
    timeout,
  });
  const parts = content ?? [];
  const text = parts.map(asText).join("\n");
  if (isError === true || parts.some(({ type }) => type === "error")) {
    const structured = isEmpty(structuredContent) ? "" : JSON.stringify(structuredContent);
    return { ok: false, error: text || structured || "The tool failed without an error message." };
  }
  if (!isEmpty(structuredContent) || (structuredContent != null && text === "")) {
    return {
      ok: true,
      value: typeof structuredContent === "string" ? jsonOrText(structuredContent) : structuredContent,
    };
  }
  const { _meta, ...bare } = others;
  if (content === undefined) return { ok: true, value: jsonValueSchema.parse(bare) };
  return { ok: true, value: jsonOrText(text) };
}

function isEmpty(value: JsonValue | undefined): value is null | undefined {
  return value == null || (typeof value === "object" && Object.keys(value).length === 0);
}

/** Returns a part of a result as text. Of a type that MCP does not define, that is its only field, or all as JSON. */
function asText(part: JsonObject): string {
  const { type, annotations, _meta, ...fields } = part;
  const { text, resource, uri, data, blob } = fields;
  if (type === "resource_link" && typeof uri === "string") return uri;
  const inner = isJsonObject(resource) ? resource : {};
  const isBinary = [data, blob, inner.blob].some((bytes) => typeof bytes === "string");
  if (isBinary) return `[${typeof type === "string" ? type : "content"} omitted]`;
  const values = Object.values(fields);
  const value = "text" in fields ? text : (inner.text ?? (values.length === 1 ? values[0] : fields));
  return typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);
}

function jsonOrText(text: string): JsonValue {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return jsonValueSchema.parse(JSON.parse(text));
  } catch {
    return text;
  }
}

/** The server cannot be reached or has exited. The message is one line. */
export class McpFailed extends Error {
  override readonly name = "McpFailed";
}

const CONNECT_MS = 60_000;

/** Timeout for the first request, because a server with an earlier protocol revision might never answer it. */
const PROBE_MS = 15_000;

/** Shares one connection per server, and reopens it if it is lost. */
export class McpConnections {
  private readonly clients = new Map<string, Promise<Client>>();
  private readonly transports = new Set<Transport>();
  private closed = false;

  /**
   * Returns an open connection. `secrets` are redacted from errors. `signal` aborts only the wait, not the connection,
   * because other callers might share it.
   */
  async to(server: McpServer, signal: AbortSignal, secrets: readonly string[] = []): Promise<Client> {
    signal.throwIfAborted();
    if (this.closed) throw new McpFailed("The connections to MCP servers are closed");
    const key = JSON.stringify(server);
    let client = this.clients.get(key);
    if (client === undefined) {
      client = this.connect(server, secrets, () => this.clients.delete(key));
      this.clients.set(key, client);
      client.catch(() => this.clients.delete(key));
    }
    return untilAborted(signal, () => client);
  }

  /**
   * Runs `call` with an open connection. If the server no longer recognizes the session, which it has not used then,
   * runs it again in a new one.
   */
  async call<T>(
    server: McpServer,
    signal: AbortSignal,
    secrets: readonly string[],
    call: (client: Client) => Promise<T>,
  ): Promise<T> {
    const client = await this.to(server, signal, secrets);
    try {
      return await call(client);
    } catch (error) {
      if (!isSessionLost(error)) throw error;
      this.clients.delete(JSON.stringify(server));
      return call(await this.to(server, signal, secrets));
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.transports].map((transport) => transport.close().catch(() => undefined)));
  }

  private async connect(server: McpServer, secrets: readonly string[], forget: () => void): Promise<Client> {
    const transport = this.transport(server, secrets);
    try {
      return await this.open(transport, "auto", forget);
    } catch (error) {
      const isOlder = "url" in server && error instanceof SdkHttpError && OLDER_TRANSPORT.has(error.status ?? 0);
      if (isOlder && !this.closed) return this.connectOlder(server, secrets, forget, error);
      if (!hasEnded(transport) || this.closed) throw connectFailure(error, transport, secrets);
    }
    // Some servers exit if the first request is not `initialize`.
    const again = this.transport(server, secrets);
    try {
      return await this.open(again, "legacy", forget);
    } catch (error) {
      throw connectFailure(error, again, secrets);
    }
  }

  /**
   * Tries the older HTTP+SSE transport after a server declined a POST, as the specification recommends
   * (https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#backwards-compatibility).
   */
  private async connectOlder(
    { url, headers }: Extract<McpServer, { url: string }>,
    secrets: readonly string[],
    forget: () => void,
    declined: Error,
  ): Promise<Client> {
    const requestInit = { headers: { ...headers } };
    // The SDK opens the event stream with the same headers.
    const transport = new SSEClientTransport(new URL(url), { requestInit, fetch: limitedFetch }) as Transport;
    try {
      return await this.open(transport, "legacy", forget);
    } catch {
      const failure = connectFailure(declined, transport, secrets);
      throw new McpFailed(`${failure.message}. It does not speak the older HTTP+SSE transport either`);
    }
  }

  /** `auto` requests protocol revision 2026-07-28 and falls back to `initialize`. `legacy` uses only `initialize`. */
  private async open(transport: Transport, mode: "auto" | "legacy", forget: () => void): Promise<Client> {
    const versionNegotiation = { mode, probe: { timeoutMs: PROBE_MS } };
    const client = new Client({ name: "art-e", version: "1" }, { versionNegotiation });
    this.transports.add(transport);
    client.onclose = () => {
      this.transports.delete(transport);
      forget();
    };
    // A restarted server does not recognize this session, so the next call opens a new one.
    client.onerror = (error) => {
      if (isSessionLost(error)) forget();
    };
    try {
      await client.connect(transport, { timeout: CONNECT_MS });
      if (this.closed) throw new McpFailed("The connections to MCP servers are closed");
      return client;
    } catch (error) {
      await client.close().catch(() => undefined);
      await transport.close().catch(() => undefined);
      this.transports.delete(transport);
      throw error;
    }
  }

  private transport(server: McpServer, secrets: readonly string[]): Transport {
    if ("command" in server) {
      return new SupervisedStdioTransport({ argv: server.command, env: server.env }, secrets);
    }
    return new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { ...server.headers } },
      fetch: limitedFetch,
    }) as Transport;
  }
}

/** Statuses of servers that do not accept a POST to the URL of their event stream. */
const OLDER_TRANSPORT = new Set([400, 404, 405]);

/** The words of servers that report a lost session as an error of the protocol. */
const SESSION_LOST =
  /\bsession\b.{0,40}\b(?:not found|unknown|invalid|expired|terminated|closed|missing)|\b(?:no|invalid|unknown|missing|expired)(?: valid)? (?:mcp[- ])?session|not (?:yet )?(?:been )?initialized/i;

function isSessionLost(error: unknown): boolean {
  if (error instanceof SdkHttpError) return [400, 404, 410].includes(error.status ?? 0);
  return error instanceof ProtocolError && SESSION_LOST.test(error.message);
}

function hasEnded(transport: Transport): boolean {
  return transport instanceof SupervisedStdioTransport && transport.hasEnded;
}

function connectFailure(error: unknown, transport: Transport, secrets: readonly string[]): McpFailed {
  const words = transport instanceof SupervisedStdioTransport ? transport.lastWords() : "";
  const why = redact(messageOf(error), secrets);
  const line = words.split("\n").at(-1) ?? "";
  const isDeclined = error instanceof Error && /\b401\b|unauthorized/i.test(`${error.name} ${error.message}`);
  const hint = isDeclined
    ? `. It requires a token: pass it with --headers '{"Authorization": "Bearer \${ENV:TOKEN}"}'`
    : "";
  return new McpFailed(`Cannot connect to the MCP server: ${why}${line === "" ? "" : ` (${line})`}${hint}`);
}

/**
 * Follows redirects only within the origin. The headers, which might contain a key, and the arguments are meant only
 * for that server.
 */
function fetchWithinOrigin(url: string | URL, init?: RequestInit): Promise<Response> {
  return followRedirects(url, (at) => proxiedFetch(at, { ...init, redirect: "manual" }), {
    statuses: REPEATING_REDIRECTS,
    discard: ({ body }) => body?.cancel(),
    check({ from, to }) {
      if (to.origin !== from.origin) {
        throw new McpFailed(`it redirects to ${to.origin}. Pass the URL that it redirects to`);
      }
    },
    refuse: (why) => new McpFailed(`it ${why}. Pass the URL that it redirects to`),
  });
}

/** Limits memory use. A response that exceeds the maximum message size fails. */
async function limitedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetchWithinOrigin(url, init);
  if (response.body === null) return response;
  let bytes = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes > MAX_MESSAGE_BYTES) controller.error(new McpFailed("The MCP server's response is too large"));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  const limited = new Response(counted, { status, statusText, headers });
  const sent = typeof init?.body === "string" ? init.body : "";
  if (sent.includes('"method":"tools/call"')) return withRepairedMessages(await withErrorAsAnswer(limited));
  if (sent.includes('"method":"notifications/')) return withErrorIgnored(limited);
  return withRepairedMessages(limited);
}

const MAX_MESSAGE_BYTES = 20_000_000;

/** Time for a server to exit after its stdin is closed. */
const GRACE_MS = 2_000;

/**
 * Stdio transport following the protocol, for a program that is stopped together with every process it started. `npx -y
 * server` is three processes, and stopping only the first would leave the others running.
 */
class SupervisedStdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private readonly decoder = new TextDecoder();
  private line = "";
  /** Lines that might be the beginning of a message written over several lines. */
  private pending = "";
  /** Returns the end of the server's stderr output. */
  lastWords = () => "";
  /** Whether the program exited before the transport was closed. */
  hasEnded = false;
  /**
   * The SDK detects a stdio transport from these two fields. On stdio, a missing response means an earlier protocol
   * revision.
   */
  readonly pid = null;
  readonly stderr = null;
  private program: SupervisedProcess | null = null;

  constructor(
    private readonly server: ProgramStart,
    private readonly secrets: readonly string[],
  ) {}

  async start(): Promise<void> {
    const program = startSupervised(this.server);
    this.program = program;
    this.lastWords = lastOf(program.stderr, this.secrets);
    program.stdout.on("data", (chunk: Buffer) => this.read(chunk));
    void program.ended.then(() => {
      this.hasEnded = this.program !== null;
      this.program = null;
      this.onclose?.();
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.program === null) throw new Error("the server has exited");
    this.program.stdin.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    const program = this.program;
    if (program === null) return;
    this.program = null;
    program.stdin.end();
    const kill = setTimeout(program.kill, GRACE_MS);
    await program.ended;
    clearTimeout(kill);
  }

  /** Skips lines that are not messages, because some servers log to stdout. */
  private read(chunk: Buffer): void {
    const lines = `${this.line}${this.decoder.decode(chunk, { stream: true })}`.split("\n");
    this.line = lines.pop() ?? "";
    if (this.line.length + this.pending.length > MAX_MESSAGE_BYTES) {
      this.onerror?.(new McpFailed("The MCP server's message is too large"));
      this.program?.kill();
      return;
    }
    for (const line of lines) this.readLine(line);
  }

  /** The protocol allows only one message per line, but some servers write several, or indented JSON. */
  private readLine(line: string): void {
    const ownMessages = messagesIn(line);
    const messages = ownMessages.length > 0 ? ownMessages : onlyMessages(`${this.pending}${line}`);
    const isPart = messages.length === 0 && (this.pending !== "" || line.startsWith("{"));
    this.pending = isPart ? `${this.pending}${line}\n` : "";
    for (const message of messages) this.onmessage?.(message);
  }
}
