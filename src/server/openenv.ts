import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { NEVER, withDeadline } from "../platform/deadline.js";
import { bearerTokenCheck, isAllowedHost, isOwnOrigin } from "../platform/http.js";
import { type JsonObject, jsonDepth, MAX_JSON_DEPTH } from "../platform/json.js";
import { NoSuchTask, type TrainingEnvironment } from "../runs/training-environment.js";
import type { Access } from "./access.js";
import { openHttpServer, refuseOpenAddress } from "./app/http-server.js";
import type { Env } from "./app/route.js";
import type { Running } from "./create-app.js";
import { McpEndpoint } from "./openenv/openenv-mcp.js";
import {
  actionJsonSchema,
  invalid,
  issuesOf,
  observationJsonSchema,
  Refused,
  readAction,
  readReset,
  resetObservation,
  resetSchema,
  type Session,
  type SessionLimits,
  Sessions,
  stateJsonSchema,
  stepObservation,
  toolsObservation,
} from "./openenv/openenv-sessions.js";

/**
 * The OpenEnv protocol (0.3 to 0.6, https://github.com/meta-pytorch/OpenEnv). Over WebSocket, each connection is a
 * session with one episode at a time, and messages are answered one by one in order. HTTP only describes the
 * environment and its tasks and has no sessions.
 */

/** The limit of the servers that the clients were written for. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A busy client might not answer a ping for a while. A disconnected one never does. */
const PINGS = { everyMs: 20_000, silentMs: 120_000 };

/** Maximum waiting messages per session. Reading pauses at this number. */
const MAX_WAITING = 16;

/** Unread bytes after which a client's next message has to wait. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Clients stop waiting after a minute and would mistake a late answer for the next one. */
const STEP_MS = 55_000;

/** In addition to the connections of sessions. */
const OTHER_CONNECTIONS = 256;

/** Time for clients to disconnect at the end. */
const CLOSE_MS = 1_000;

const MAX_BODY_BYTES = 4_000_000;

/** Maximum number of tasks per answer. */
const MAX_TASKS = 10_000;

export interface OpenEnvOptions extends SessionLimits {
  readonly access: Pick<Access, "host" | "token">;
  readonly port: number;
  readonly version: string;
  /** The interval between pings, and the silence after which a client counts as disconnected. */
  readonly pings?: { readonly everyMs: number; readonly silentMs: number };
  /** Logs an error caused by a bug in this program. */
  report(fault: unknown, where: string): void;
}

/** The answer to a message. */
interface Answer {
  /** Null if there is nothing to answer. */
  readonly message: JsonObject | null;
  /** Whether the client closes the session. */
  readonly ends: boolean;
}

type AnswerText = (text: string, session: Session, mcp: McpEndpoint) => Promise<Answer>;

type Message = { readonly type: unknown } & Record<string, unknown>;

/**
 * Starts the server. Port 0 selects any free port. Throws a UserError if the port is in use or the server would be open
 * to others without a token.
 */
export async function serveOpenEnv(environment: TrainingEnvironment, options: OpenEnvOptions): Promise<Running> {
  const { access, port, maxSessions, report } = options;
  refuseOpenAddress(access);
  const sessions = new Sessions(environment, options, report);
  const mcp = new McpEndpoint(environment, sessions, options.version);
  const sockets = new Sockets(sessions, mcp, options);
  const app = httpApp(environment, mcp, options);
  const upgrade = sockets.upgrade.bind(sockets);
  const server = await openHttpServer(app, access.host, port, maxSessions + OTHER_CONNECTIONS, upgrade);
  return {
    url: server.url,
    stop: (graceMs) =>
      server.close(graceMs, async () => {
        await sessions.close();
        await sockets.close();
      }),
  };
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/**
 * Returns a function that returns null or the status of a refusal. Clients can send the token as a bearer token or as
 * the password in a URL.
 */
function accessCheck({ host, token }: OpenEnvOptions["access"]) {
  const isToken = token === null ? () => true : bearerTokenCheck(token);
  return (read: (name: string) => string | undefined): 401 | 403 | null => {
    const origin = read("origin");
    if (!isAllowedHost(host, read("host"))) return 403;
    if (origin !== undefined && !isOwnOrigin(origin, read("host"))) return 403;
    const authorization = read("authorization");
    const [, basic] = /^Basic +(\S+)\s*$/i.exec(authorization ?? "") ?? [];
    if (basic === undefined) return isToken(authorization) ? null : 401;
    const [, ...password] = Buffer.from(basic, "base64").toString("utf8").split(":");
    return isToken(`Bearer ${password.join(":")}`) ? null : 401;
  };
}

/** Routes without sessions: the environment, its tasks, and MCP. */
function httpApp(environment: TrainingEnvironment, mcp: McpEndpoint, options: OpenEnvOptions): Hono<Env> {
  const app = new Hono<Env>();
  app.use(refuseOthers(options.access));
  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES, onError: () => detail(413, "The body is too large") }));
  app.get("/health", (c) => c.json({ status: "healthy" }));
  app.get("/metadata", (c) => c.json(metadataOf(environment, options.version)));
  app.get("/schema", (c) =>
    c.json({ action: actionJsonSchema, observation: observationJsonSchema, state: stateJsonSchema }),
  );
  app.get("/openapi.json", (c) => c.json(openapi(environment, options.version)));
  app.get("/state", (c) => c.json({ episode_id: null, step_count: 0 }));
  app.post("/reset", async (c) => {
    const { request, ignored } = readReset(await readBody(c, resetSchema));
    const episode = await environment.begin(request, false);
    await episode.episode.interrupt("HTTP does not support episodes.");
    return c.json(resetObservation(episode, ignored));
  });
  app.post("/step", async (c) => {
    const action = readAction((await readBody(c, stepBodySchema)).action);
    if (action.type === "list_tools") return c.json(toolsObservation(environment.tools));
    const error = "HTTP does not support episodes. Use the WebSocket at /ws.";
    const step = { result: { ok: false, kind: "failed", error }, reward: 0, done: false, end: null } as const;
    return c.json(stepObservation(action.tool_name, step, 0));
  });
  app.post("/mcp", async (c) => mcp.post(await c.req.text(), c.req.header("mcp-session-id"), c.req.query()));
  app.delete("/mcp", (c) => mcp.delete(c.req.header("mcp-session-id")));
  addTaskApi(app, environment);
  for (const path of ["/health", "/metadata", "/schema", "/openapi.json", "/state", "/reset", "/step", "/mcp"]) {
    app.all(path, () => detail(405, "Method Not Allowed"));
  }
  app.notFound(() => detail(404, "Not Found"));
  app.onError((error) => {
    if (error instanceof HTTPException) return error.getResponse();
    if (error instanceof NoSuchTask) return detail(400, error.message);
    if (error instanceof Refused) return detail(422, error.details.errors);
    options.report(error, "http");
    return detail(500, "Internal Server Error");
  });
  return app;
}

/** Lists the tasks, for trainers that build datasets from them. */
function addTaskApi(app: Hono<Env>, environment: TrainingEnvironment): void {
  app.get("/list_environments", (c) => c.json([environment.name]));
  app.use("/:env/:what{splits|tasks|num_tasks|task|task_range}", (c, next) => {
    const { env } = c.req.param();
    if (env.toLowerCase().replaceAll("_", "-") === environment.name) return next();
    throw refused(404, `Unknown environment "${env.slice(0, 100)}". Available: ${environment.name}.`);
  });
  app.get("/:env/splits", (c) => c.json(environment.splits.map(({ name }) => ({ name, type: name }))));
  const tasks = (split: string, start: number, stop: number) =>
    Array.from({ length: Math.min(MAX_TASKS, Math.max(0, stop - start)) }, (_, i) =>
      environment.task(split, start + i),
    );
  const ofSplit = z.looseObject({ split: z.string() });
  app.post("/:env/tasks", async (c) => {
    const { split } = await readBody(c, ofSplit);
    return c.json({ tasks: tasks(split, 0, environment.countTasks(split)), env_name: environment.name });
  });
  app.post("/:env/num_tasks", async (c) => {
    const { split } = await readBody(c, ofSplit);
    return c.json({ num_tasks: environment.countTasks(split) });
  });
  app.post("/:env/task", async (c) => {
    const { split, index } = await readBody(c, ofSplit.extend({ index: z.int() }));
    return c.json({ task: environment.task(split, index) });
  });
  const range = ofSplit.extend({ start: z.int().nullish(), stop: z.int().nullish() });
  app.post("/:env/task_range", async (c) => {
    const { split, start, stop } = await readBody(c, range);
    const all = environment.countTasks(split);
    return c.json({ tasks: tasks(split, sliceEnd(start ?? 0, all), sliceEnd(stop ?? all, all)) });
  });
}

/** Resolves a slice index like Python: negative values count from the end, and the result is within the list. */
function sliceEnd(at: number, length: number): number {
  return Math.min(length, Math.max(0, at < 0 ? length + at : at));
}

function refuseOthers(access: OpenEnvOptions["access"]): MiddlewareHandler<Env> {
  const check = accessCheck(access);
  return async (c, next) => {
    const status = check((name) => c.req.header(name));
    if (status === 401)
      return detail(401, "Missing or wrong token. Send Authorization: Bearer TOKEN", { "www-authenticate": "Bearer" });
    if (status === 403) return detail(403, "This server only accepts requests from this machine");
    return next();
  };
}

function detail(status: number, what: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ detail: what }, { status, headers });
}

function refused(status: 404 | 422, what: unknown): HTTPException {
  return new HTTPException(status, { res: detail(status, what) });
}

/** An empty body counts as an empty object. */
async function readBody<T extends z.ZodType>(c: Context<Env>, schema: T): Promise<z.output<T>> {
  const body = parseJson((await c.req.text()) || "{}");
  const read = schema.safeParse(body);
  if (!read.success) throw refused(422, issuesOf(read.error, body, ["body"]));
  return read.data;
}

function parseJson(text: string): unknown {
  const issue = { type: "json_invalid", loc: ["body"], msg: "JSON decode error", input: {} };
  if (jsonDepth(text) > MAX_JSON_DEPTH) {
    throw refused(422, [{ ...issue, msg: `nested more than ${MAX_JSON_DEPTH} deep` }]);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw refused(422, [issue]);
  }
}

function metadataOf({ name, splits }: TrainingEnvironment, version: string) {
  const counts = splits.map((split) => `${split.tasks} ${split.name}`).join(", ");
  return {
    name,
    description: `Questions about a person's mailbox (${counts}), answered by searching and reading its email.`,
    readme_content: null,
    version,
    author: null,
    documentation_url: null,
  };
}

/** The parts of an OpenAPI document that `openenv validate` reads: the protocol version and the paths. */
function openapi(environment: TrainingEnvironment, version: string) {
  const { description } = metadataOf(environment, version);
  const operation = (summary: string) => ({
    summary,
    responses: { 200: { description: "Done", content: { "application/json": { schema: { type: "object" } } } } },
  });
  const get = (summary: string) => ({ get: operation(summary) });
  const post = (summary: string) => ({
    post: { ...operation(summary), requestBody: { content: { "application/json": { schema: { type: "object" } } } } },
  });
  return {
    openapi: "3.1.0",
    // Version of the protocol's HTTP interface, which its validator checks.
    info: { title: "OpenEnv Environment HTTP API", description, version: "1.0.0" },
    paths: {
      "/health": get("Server health"),
      "/metadata": get("Name and description"),
      "/schema": get("JSON schemas of actions, observations and state"),
      "/state": get("State of an environment without an episode, because HTTP has no sessions"),
      "/reset": post("Start of an episode that is not stored, because HTTP has no sessions"),
      "/step": post("list_tools only, because episodes use /ws"),
      "/mcp": post("JSON-RPC: OpenEnv's methods, and MCP over streamable HTTP"),
      "/list_environments": get("Names of environments"),
      "/{env}/splits": get("Splits of the dataset"),
      "/{env}/tasks": post("Tasks of a split"),
      "/{env}/num_tasks": post("Number of tasks in a split"),
      "/{env}/task": post("The task with an index"),
      "/{env}/task_range": post("Tasks from one index to another"),
    },
  };
}

const stepBodySchema = z.looseObject({
  action: z.unknown(),
  timeout_s: z.number().positive().nullish(),
  request_id: z.string().max(255).nullish(),
});

const envelopes = {
  reset: z.strictObject({ type: z.literal("reset"), data: resetSchema.default({}) }),
  step: z.strictObject({ type: z.literal("step"), data: z.unknown() }),
  state: z.strictObject({ type: z.literal("state") }),
  close: z.strictObject({ type: z.literal("close") }),
  mcp: z.strictObject({ type: z.literal("mcp"), data: z.unknown() }),
} as const;

/** The open WebSockets. */
class Sockets {
  private readonly server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  private readonly check: ReturnType<typeof accessCheck>;
  private readonly open = new Set<SocketSession>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly sessions: Sessions,
    private readonly mcp: McpEndpoint,
    private readonly options: OpenEnvOptions,
  ) {
    const { everyMs, silentMs } = options.pings ?? PINGS;
    this.check = accessCheck(options.access);
    this.timer = setInterval(() => this.ping(silentMs), everyMs).unref();
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { pathname = "" } = URL.parse(request.url ?? "/", "http://localhost") ?? {};
    const answer = ANSWERS[pathname];
    const status = this.check((name) => header(request, name)) ?? (answer === undefined ? 404 : null);
    if (status !== null || answer === undefined) {
      socket.on("error", () => socket.destroy());
      socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    this.server.handleUpgrade(request, socket, head, (client) => this.accept(client, answer));
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    const { clients } = this.server;
    await Promise.race([Promise.all([...clients].map(closed)), delay(CLOSE_MS, undefined, { ref: false })]);
    for (const client of clients) client.terminate();
  }

  private accept(client: WebSocket, answer: AnswerText): void {
    client.on("error", () => client.terminate());
    try {
      const session = this.sessions.take();
      const socket = new SocketSession(client, session, (text) => answer(text, session, this.mcp), this.options.report);
      this.open.add(socket);
      client.once("close", () => this.open.delete(socket));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      client.send(JSON.stringify(answer === ANSWERS["/mcp"] ? this.mcp.refusal(error) : error.toJson()));
      client.close(1000);
    }
  }

  private ping(silentMs: number): void {
    const now = performance.now();
    for (const socket of this.open) socket.ping(now, silentMs);
  }
}

const ANSWERS: Readonly<Record<string, AnswerText>> = {
  "/ws": (text, session, mcp) => answerMessage(readMessage(text), session, mcp),
  "/mcp": async (text, session, mcp) => ({ message: await mcp.answer(text, session), ends: false }),
};

function closed(client: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    if (client.readyState === client.CLOSED) resolve();
    client.once("close", () => resolve());
    client.close(1001, "the server is stopping");
  });
}

/** A session over a WebSocket. */
class SocketSession {
  private readonly waiting: { readonly data: RawData; readonly isBinary: boolean }[] = [];
  private isAnswering = false;
  private heardAt = performance.now();

  constructor(
    private readonly client: WebSocket,
    private readonly session: Session,
    private readonly answer: (text: string) => Promise<Answer>,
    private readonly report: OpenEnvOptions["report"],
  ) {
    session.whenEnded((why) => {
      if (client.readyState === client.OPEN) client.close(1000, why.slice(0, 100));
    });
    const heard = () => {
      this.heardAt = performance.now();
    };
    client.on("pong", heard);
    client.on("ping", heard);
    client.on("close", () => session.end("the client disconnected before an answer"));
    client.on("message", (data, isBinary) => {
      heard();
      session.usedAt = this.heardAt;
      this.waiting.push({ data, isBinary });
      if (this.waiting.length >= MAX_WAITING) client.pause();
      void this.answerAll();
    });
  }

  /** Closes a socket that has been silent for too long, because its client has probably disconnected. */
  ping(now: number, silentMs: number): void {
    if (this.client.readyState !== this.client.OPEN) return;
    if (this.isAnswering) this.heardAt = now;
    if (now - this.heardAt > silentMs) this.client.terminate();
    else this.client.ping();
  }

  private async answerAll(): Promise<void> {
    if (this.isAnswering) return;
    this.isAnswering = true;
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      if (this.client.readyState !== this.client.OPEN) break;
      if (this.waiting.length === 0 && this.client.isPaused) this.client.resume();
      const isGoingOn = await this.answerOne(next.data, next.isBinary);
      this.session.usedAt = performance.now();
      if (!isGoingOn) break;
    }
    this.isAnswering = false;
  }

  /** Returns false if the session has ended. */
  private async answerOne(data: RawData, isBinary: boolean): Promise<boolean> {
    let answer: Answer;
    try {
      if (isBinary) throw new Refused("SESSION_ERROR", "Expected a text message, not a binary one.", {}, true);
      answer = await withDeadline(NEVER, STEP_MS, tooLate, () => this.answer(data.toString()));
    } catch (error) {
      const refusal = error instanceof Refused ? error : this.toRefused(error);
      answer = { message: refusal.toJson(), ends: refusal.ends };
    }
    if (answer.message !== null) await this.send(JSON.stringify(answer.message));
    if (answer.ends) this.client.close(1000);
    return !answer.ends;
  }

  private toRefused(error: unknown): Refused {
    this.report(error, "ws");
    return new Refused("EXECUTION_ERROR", "The environment failed. See its log.");
  }

  /** Resolves immediately, unless the client is far behind in reading. */
  private async send(answer: string): Promise<void> {
    const delivery = new Promise<void>((resolve) => this.client.send(answer, () => resolve()));
    if (this.client.bufferedAmount > MAX_UNREAD_BYTES) await delivery;
  }
}

const tooLate = () => new Refused("EXECUTION_ERROR", `The environment took longer than ${STEP_MS / 1_000} s.`);

function readMessage(text: string): Message {
  if (jsonDepth(text) > MAX_JSON_DEPTH) {
    throw new Refused("INVALID_JSON", `Invalid JSON: nested more than ${MAX_JSON_DEPTH} deep`);
  }
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch (error) {
    throw new Refused("INVALID_JSON", `Invalid JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    throw new Refused("SESSION_ERROR", "Expected a JSON object.", {}, true);
  }
  return message as Message;
}

async function answerMessage(message: Message, session: Session, mcp: McpEndpoint): Promise<Answer> {
  const { type } = message;
  if (typeof type !== "string" || !Object.hasOwn(envelopes, type)) {
    const name = typeof type === "string" ? type.slice(0, 100) : "";
    throw new Refused("UNKNOWN_TYPE", `Unknown message type: ${name}`);
  }
  const read = envelopes[type as keyof typeof envelopes].safeParse(message);
  if (!read.success) throw invalid(read.error, message);
  const checked = read.data;
  switch (checked.type) {
    case "reset": {
      const { request, ignored } = readReset(checked.data);
      return answerWith({ type: "observation", data: resetObservation(await session.reset(request), ignored) });
    }
    case "step":
      return answerWith({ type: "observation", data: await session.step(readAction(checked.data)) });
    case "state":
      return answerWith({ type: "state", data: session.state() });
    case "mcp":
      return answerWith({ type: "mcp", data: await mcp.answerRequest(checked.data, session) });
    case "close":
      return { message: null, ends: true };
  }
}

function answerWith(message: JsonObject): Answer {
  return { message, ends: false };
}
