/** How long an event stream may be silent, and how long its reader may be slow. */
export interface StreamLimits {
  /** A comment is sent after so much silence, so that nobody in between takes the connection for dead. */
  readonly heartbeatMs: number;
  /** A reader that takes nothing for so long is given up. */
  readonly stallMs: number;
}

const COMMENT = ": still working\n\n";

/**
 * The body of an answer of server-sent events. `send` resolves when the reader has room for more, so that a slow one slows
 * its writer down instead of filling the memory. After the reader is gone, `send` does nothing.
 */
export class SseWriter {
  readonly body: ReadableStream<Uint8Array>;
  private readonly encoder = new TextEncoder();
  private readonly heartbeat: NodeJS.Timeout;
  private controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  private makeRoom: (() => void) | null = null;
  private sentAt = performance.now();

  /**
   * `onGone` hears once that the reader has left or has been given up; not of `close`. `cut` ends the connection of a reader
   * that has been given up: it would hold it for ever.
   */
  constructor(
    private readonly limits: StreamLimits,
    private readonly onGone: (why: string) => void,
    private readonly cut: () => void,
  ) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.makeRoom?.(),
        cancel: () => this.leave("the client is gone"),
      },
      { highWaterMark: 1 },
    );
    this.heartbeat = setInterval(() => this.beat(), Math.max(10, limits.heartbeatMs / 2));
    this.heartbeat.unref();
  }

  /** One event, named where its readers want a name; a text goes as it is, anything else as JSON. */
  async send(data: unknown, name?: string): Promise<void> {
    const { controller } = this;
    if (controller === null) return;
    const text = typeof data === "string" ? data : JSON.stringify(data);
    this.write(`${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`);
    if ((controller.desiredSize ?? 0) > 0) return;
    await new Promise<void>((resolve) => {
      const stall = setTimeout(() => this.giveUp(), this.limits.stallMs);
      this.makeRoom = () => {
        clearTimeout(stall);
        this.makeRoom = null;
        resolve();
      };
    });
  }

  /** What has been sent still reaches the reader. */
  close(): void {
    this.controller?.close();
    this.end();
  }

  private write(text: string): void {
    this.controller?.enqueue(this.encoder.encode(text));
    this.sentAt = performance.now();
  }

  private beat(): void {
    const isSilent = performance.now() - this.sentAt >= this.limits.heartbeatMs;
    if (isSilent && (this.controller?.desiredSize ?? 0) > 0) this.write(COMMENT);
  }

  private giveUp(): void {
    this.leave("the client reads nothing");
    this.cut();
  }

  private leave(why: string): void {
    if (this.controller === null) return;
    this.end();
    this.onGone(why);
  }

  private end(): void {
    clearInterval(this.heartbeat);
    this.controller = null;
    this.makeRoom?.();
  }
}
