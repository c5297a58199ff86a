import { ApiError } from "./app/api-error.js";

/** Time limits of an event stream. */
export interface StreamLimits {
  /** Milliseconds of silence after which a comment is sent, so that proxies keep the connection open. */
  readonly heartbeatMs: number;
  /** Milliseconds after which a client that does not read is disconnected. */
  readonly stallMs: number;
}

/** A running chat. */
interface AdmittedChat {
  readonly signal: AbortSignal;
  /** Aborts the chat because its client has disconnected. */
  abandon(reason: string): void;
  /** Lets another chat start. */
  release(): void;
}

export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // Proxies that buffer responses would delay the events.
  "x-accel-buffering": "no",
} as const;

const COMMENT = ": still working\n\n";

/**
 * A response body of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). `send`
 * resolves when the client can receive more (back pressure), and does nothing after the client disconnects. hono's
 * streamSSE has neither heartbeats nor a time limit for a client that stops reading.
 */
export class SseWriter {
  readonly body: ReadableStream<Uint8Array>;
  private readonly encoder = new TextEncoder();
  private readonly heartbeat: NodeJS.Timeout;
  private controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  private resume: (() => void) | null = null;
  private sentAt = performance.now();

  /**
   * `onGone` is called once when the client disconnects or stalls, but not on `close`. `destroyConnection` closes the
   * connection of a stalled client, which would otherwise keep it open forever.
   */
  constructor(
    private readonly limits: StreamLimits,
    private readonly onGone: (reason: string) => void,
    private readonly destroyConnection: () => void,
  ) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.resume?.(),
        cancel: () => this.stop("the client disconnected"),
      },
      { highWaterMark: 1 },
    );
    this.heartbeat = setInterval(() => this.sendHeartbeat(), Math.max(10, limits.heartbeatMs / 2));
    this.heartbeat.unref();
  }

  /** Sends one event. Strings are sent unchanged, anything else as JSON. */
  async send(data: unknown, name?: string): Promise<void> {
    const { controller } = this;
    if (controller === null) return;
    const text = typeof data === "string" ? data : JSON.stringify(data);
    this.write(`${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`);
    if ((controller.desiredSize ?? 0) > 0) return;
    await new Promise<void>((resolve) => {
      const stall = setTimeout(() => this.disconnectStalled(), this.limits.stallMs);
      this.resume = () => {
        clearTimeout(stall);
        this.resume = null;
        resolve();
      };
    });
  }

  /** Events sent before are still delivered. */
  close(): void {
    this.controller?.close();
    this.end();
  }

  private write(text: string): void {
    this.controller?.enqueue(this.encoder.encode(text));
    this.sentAt = performance.now();
  }

  private sendHeartbeat(): void {
    const isSilent = performance.now() - this.sentAt >= this.limits.heartbeatMs;
    if (isSilent && (this.controller?.desiredSize ?? 0) > 0) this.write(COMMENT);
  }

  private disconnectStalled(): void {
    this.stop("the client stopped reading");
    this.destroyConnection();
  }

  private stop(reason: string): void {
    if (this.controller === null) return;
    this.end();
    this.onGone(reason);
  }

  private end(): void {
    clearInterval(this.heartbeat);
    this.controller = null;
    this.resume?.();
  }
}

/** The abort reason of a chat's signal. */
class ChatEnded extends Error {
  override readonly name = "ChatEnded";

  constructor(
    readonly by: "client" | "server",
    message: string,
  ) {
    super(message);
  }
}

/** Limits the number of concurrent chats, and allows only one chat at a time per session. */
export class ChatLimits {
  private readonly open = new Set<AbortController>();
  private readonly sessions = new Set<string>();
  private stopping = false;
  private onEmpty: (() => void) | null = null;

  constructor(readonly max: number) {}

  get count(): number {
    return this.open.size;
  }

  /** Throws an ApiError if the limit is reached. */
  admit(sessionId: string): AdmittedChat {
    if (this.stopping) throw overloaded("The server is stopping.", 5);
    if (this.open.size >= this.max) throw overloaded(`The maximum of ${this.max} concurrent chats is reached.`, 2);
    if (this.sessions.has(sessionId)) {
      throw new ApiError("CONFLICT", `Session ${sessionId} is busy with another chat.`);
    }
    const controller = new AbortController();
    this.open.add(controller);
    this.sessions.add(sessionId);
    return {
      signal: controller.signal,
      abandon: (reason) => controller.abort(new ChatEnded("client", reason)),
      release: () => {
        this.open.delete(controller);
        this.sessions.delete(sessionId);
        if (this.open.size === 0) this.onEmpty?.();
      },
    };
  }

  /** Admits no more chats and aborts chats that do not finish within `graceMs`. Resolves when no chat is running. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    if (this.open.size === 0) return;
    const timer = setTimeout(() => {
      for (const controller of this.open) controller.abort(new ChatEnded("server", "The server is stopping."));
    }, graceMs);
    await new Promise<void>((resolve) => {
      this.onEmpty = resolve;
    });
    clearTimeout(timer);
  }
}

function overloaded(message: string, retryAfterSeconds: number): ApiError {
  return new ApiError("OVERLOADED", message, null, { "retry-after": String(retryAfterSeconds) });
}
