// Writes server-sent events with back pressure.

/** Time limits of an event stream. */
export interface StreamLimits {
  /** Milliseconds of silence after which a comment is sent, so that proxies keep the connection open. */
  readonly heartbeatMs: number;
  /** Milliseconds after which a client that does not read is disconnected. */
  readonly stallMs: number;
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
  async send(data: unknown): Promise<void> {
    const { controller } = this;
    if (controller === null) return;
    const text = typeof data === "string" ? data : JSON.stringify(data);
    this.write(`data: ${text}\n\n`);
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
