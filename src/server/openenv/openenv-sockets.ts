// The environment server's WebSockets: one session per connection, whose messages are answered one by one in order.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { NEVER, withDeadline } from "../../platform/deadline.js";
import { type JsonObject, jsonDepth, MAX_JSON_DEPTH } from "../../platform/json.js";
import { accessCheck } from "./openenv-access.js";
import type { McpEndpoint } from "./openenv-mcp.js";
import {
  invalid,
  type OpenEnvOptions,
  Refused,
  readAction,
  readReset,
  resetObservation,
  resetSchema,
  type Session,
  type Sessions,
} from "./openenv-sessions.js";

/** The open WebSockets. */
export class Sockets {
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

const envelopes = {
  reset: z.strictObject({ type: z.literal("reset"), data: resetSchema.default({}) }),
  step: z.strictObject({ type: z.literal("step"), data: z.unknown() }),
  state: z.strictObject({ type: z.literal("state") }),
  close: z.strictObject({ type: z.literal("close") }),
  mcp: z.strictObject({ type: z.literal("mcp"), data: z.unknown() }),
} as const;

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

/** Time for clients to disconnect at the end. */
const CLOSE_MS = 1_000;

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
