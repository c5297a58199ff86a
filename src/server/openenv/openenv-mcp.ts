// JSON-RPC at /mcp. Supports the methods of OpenEnv, which specify the session in the parameters, and MCP over
// streamable HTTP, which specifies it in a header. Both call the tools of an episode. The reward is in _meta.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { type JsonObject, type JsonValue, jsonDepth, MAX_JSON_DEPTH } from "../../platform/json.js";
import { NoSuchTask, type OfferedTask, type TrainingEnvironment } from "../../training/environment.js";
import {
  endMetadata,
  invalid,
  Refused,
  readReset,
  resetSchema,
  type Session,
  type Sessions,
  toolArgumentsSchema,
  toolResult,
} from "./openenv-sessions.js";

const requestSchema = z.strictObject({
  jsonrpc: z.literal("2.0"),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
});

type Request = z.output<typeof requestSchema>;

/** An MCP client. Its session starts with its first call. */
interface McpClient {
  readonly task: OfferedTask;
  session: Session | null;
}

/** How a caller identifies its session, and the form in which it receives a failed tool call. */
interface Caller {
  readonly session: Session | null;
  readonly client: McpClient | null;
  /** Query parameters of the URL, which can specify the task. */
  readonly query: Readonly<Record<string, string>>;
  /** Called with the id of a new MCP client. */
  onClient(id: string): void;
}

const callSchema = z.looseObject({ name: z.string(), arguments: toolArgumentsSchema.default({}) });

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const NO_METHOD = -32601;
const INVALID_PARAMS = -32602;
const TOOL_FAILED = -32603;
const AT_CAPACITY = -32000;

class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data: JsonValue = null,
  ) {
    super(message);
  }
}

/** Newest first. A client that requests an unsupported version gets the newest. */
const MCP_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** Maximum MCP clients that have not called a tool yet. They do not occupy a session. */
const MAX_INTRODUCED = 10_000;

export class McpEndpoint {
  private readonly sessions = new Map<string, Session>();
  private readonly clients = new Map<string, McpClient>();
  /** MCP clients over WebSocket. */
  private readonly bySession = new WeakMap<Session, McpClient>();
  private readonly listed: JsonValue;

  constructor(
    private readonly environment: TrainingEnvironment,
    private readonly open: Sessions,
    private readonly version: string,
  ) {
    // The schema has different names in different versions of OpenEnv.
    this.listed = environment.tools.map(({ id, description, parameters }) => ({
      name: id,
      description,
      inputSchema: parameters,
      input_schema: parameters,
    }));
  }

  /** Answers a message over HTTP. */
  async post(text: string, clientId: string | undefined, query: Readonly<Record<string, string>>): Promise<Response> {
    const client = clientId === undefined ? null : (this.clients.get(clientId) ?? null);
    if (clientId !== undefined && client === null) {
      return Response.json(failed(null, new RpcError(-32001, "Session not found")), { status: 404 });
    }
    const headers: Record<string, string> = {};
    const onClient = (id: string) => {
      headers["mcp-session-id"] = id;
    };
    const answer = await this.answerText(text, { session: null, client, query, onClient });
    return answer === null ? new Response(null, { status: 202 }) : Response.json(answer, { headers });
  }

  /** Ends a client's session. */
  delete(clientId: string | undefined): Response {
    const client = this.clients.get(clientId ?? "");
    if (client === undefined) return Response.json({ detail: "Session not found" }, { status: 404 });
    this.clients.delete(clientId ?? "");
    client.session?.end("the client disconnected before an answer");
    return new Response(null, { status: 204 });
  }

  /** Answers a message over a WebSocket, which is a session. */
  answer(text: string, session: Session): Promise<JsonObject | null> {
    return this.answerText(text, callerOf(session));
  }

  /** Answers an MCP message inside a message of the session protocol. */
  answerRequest(request: unknown, session: Session): Promise<JsonObject | null> {
    return this.answerValue(request, callerOf(session));
  }

  refusal(why: Refused): JsonObject {
    return failed(null, toRpcError(why));
  }

  private async answerText(text: string, caller: Caller): Promise<JsonObject | null> {
    let value: unknown;
    try {
      if (jsonDepth(text) > MAX_JSON_DEPTH) throw new Error(`nested more than ${MAX_JSON_DEPTH} deep`);
      value = JSON.parse(text);
      if (Array.isArray(value)) throw new Error("a list");
    } catch (error) {
      const why = `Parse error: ${(error as Error).message.slice(0, 200)}`;
      return failed(null, new RpcError(PARSE_ERROR, why));
    }
    return this.answerValue(value, caller);
  }

  /** Returns null for a notification, which needs no answer. */
  private async answerValue(value: unknown, caller: Caller): Promise<JsonObject | null> {
    const read = requestSchema.safeParse(value);
    if (!read.success) {
      const [issue] = read.error.issues;
      const why = `Invalid request: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`;
      return failed(null, new RpcError(INVALID_REQUEST, why));
    }
    const request = read.data;
    if (request.id === undefined && request.method.startsWith("notifications/")) return null;
    try {
      return { jsonrpc: "2.0", id: request.id ?? null, result: await this.carryOut(request, caller) };
    } catch (error) {
      return failed(request.id ?? null, toRpcError(error));
    }
  }

  private async carryOut({ method, params = {} }: Request, caller: Caller): Promise<JsonObject> {
    switch (method) {
      case "initialize":
        return this.introduce(params, caller);
      case "ping":
        return {};
      case "tools/list":
        this.named(params);
        return { tools: this.listed };
      case "tools/call":
        return this.call(params, caller);
      case "openenv/session/create":
        return this.create(params);
      case "openenv/session/close":
        return this.close(params);
      default:
        throw new RpcError(NO_METHOD, `Method not found: ${method.slice(0, 100)}`);
    }
  }

  private introduce(params: Record<string, unknown>, caller: Caller): JsonObject {
    const options = resetSchema.safeParse({ ...caller.query, ...numbersOf(caller.query) });
    if (!options.success)
      throw new RpcError(INVALID_PARAMS, "The URL does not specify a task: expected split, index, task_id or seed");
    const task = this.environment.choose(readReset(options.data).request);
    const client = { task, session: caller.session };
    if (caller.session === null) caller.onClient(this.keep(client));
    else this.bySession.set(caller.session, client);
    const version = MCP_VERSIONS.find((version) => version === params.protocolVersion) ?? MCP_VERSIONS[0];
    return {
      protocolVersion: version,
      capabilities: { tools: {} },
      serverInfo: { name: this.environment.name, version: this.version },
      instructions: `${this.environment.instructionsFor(task)}\n\nThe question: ${task.question}`,
    };
  }

  /** Stores a client and returns its session id. The client occupies a session only from its first call on. */
  private keep(client: McpClient): string {
    const [oldest] = this.clients.size >= MAX_INTRODUCED ? this.clients.keys() : [];
    if (oldest !== undefined) this.delete(oldest);
    const id = randomUUID();
    this.clients.set(id, client);
    return id;
  }

  private async call(params: Record<string, unknown>, caller: Caller): Promise<JsonObject> {
    const read = callSchema.safeParse(params);
    if (!read.success)
      throw new RpcError(INVALID_PARAMS, "Missing 'name' in params, or arguments that are not an object");
    const { name, arguments: args } = read.data;
    const session = this.named(params) ?? this.sessionOf(caller);
    if (session === null)
      throw new RpcError(TOOL_FAILED, "No episode is running. Start one with openenv/session/create.");
    if (!session.hasEpisode) {
      const task = (caller.client ?? this.bySession.get(session))?.task;
      await session.reset(task === undefined ? {} : { split: task.split, index: task.index });
    }
    const { result, text, reward, done, end } = await session.call(name, args);
    const meta = { reward, done, ...(end === null ? {} : { end: endMetadata(end) }) };
    if (result.ok) {
      // OpenEnv clients read the property names of FastMCP, and MCP clients the names of MCP.
      const content = toolResult(result, text);
      return { ...content, structuredContent: content.structured_content, isError: false, _meta: meta };
    }
    if (caller.client === null || result.kind === "unknown_tool") throw new RpcError(TOOL_FAILED, text);
    return { content: [{ type: "text", text }], isError: true, _meta: meta };
  }

  /** Returns the caller's session, based on its connection or its header. */
  private sessionOf({ client, session }: Caller): Session | null {
    if (client === null) return session;
    if (client.session === null) {
      client.session = this.open.take();
      client.session.whenEnded(() => {
        client.session = null;
      });
    }
    return client.session;
  }

  /** Returns the session specified in the parameters, or null if they specify none. */
  private named({ session_id: id }: Record<string, unknown>): Session | null {
    if (id === undefined || id === null) return null;
    const session = this.sessions.get(String(id));
    if (session !== undefined) return session;
    throw new RpcError(INVALID_PARAMS, `Unknown session_id: ${String(id).slice(0, 100)}`);
  }

  /** The parameters can specify the task, as in a reset. */
  private async create(params: Record<string, unknown>): Promise<JsonObject> {
    const session = this.open.take();
    const id = randomUUID();
    session.whenEnded(() => this.sessions.delete(id));
    this.sessions.set(id, session);
    try {
      const read = resetSchema.safeParse(params);
      if (!read.success) throw invalid(read.error, params);
      const { task, instructions } = await session.reset(readReset(read.data).request);
      return { session_id: id, task: { ...task }, instructions };
    } catch (error) {
      session.end("it could not start");
      throw error;
    }
  }

  private close(params: Record<string, unknown>): JsonObject {
    if (params.session_id === undefined)
      throw new RpcError(INVALID_PARAMS, "Invalid params - 'session_id' is required");
    this.named(params)?.end("the client closed the session before an answer");
    return { session_id: String(params.session_id), closed: true };
  }
}

/** The caller behind a WebSocket, which is a session. */
function callerOf(session: Session): Caller {
  return { session, client: null, query: {}, onClient() {} };
}

function failed(id: string | number | null, { code, message, data }: RpcError): JsonObject {
  return { jsonrpc: "2.0", id, error: { code, message, data } };
}

function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof NoSuchTask) return new RpcError(INVALID_PARAMS, error.message);
  if (!(error instanceof Refused)) throw error;
  const codes: Readonly<Record<string, number>> = { CAPACITY_REACHED: AT_CAPACITY, VALIDATION_ERROR: INVALID_PARAMS };
  return new RpcError(codes[error.code] ?? TOOL_FAILED, error.message, error.details);
}

/** Numbers are strings in a URL. */
function numbersOf(query: Readonly<Record<string, string>>): Record<string, number> {
  const names = ["index", "seed"].filter((name) => /^\d{1,15}$/.test(query[name] ?? ""));
  return Object.fromEntries(names.map((name) => [name, Number(query[name])]));
}
