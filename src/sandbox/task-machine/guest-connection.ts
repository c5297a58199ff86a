import type { Readable, Writable } from "node:stream";
import { z } from "zod";
import { type Frame, FrameReader, toFrame } from "./guest-frames.js";

const headSchema = z.looseObject({ id: z.number().int(), error: z.string().optional() });

interface Pending {
  /** True: the last of the replies. */
  readonly onReply: (frame: Frame) => boolean;
  readonly reject: (error: Error) => void;
}

/** Requests to the program that is the machine's first process, and its replies. */
export class GuestConnection {
  readonly #pending = new Map<number, Pending>();
  #ended: Error | null = null;
  #last = 0;

  constructor(
    private readonly requests: Writable,
    replies: Readable,
    private readonly onBroken: (error: Error) => void,
  ) {
    const reader = new FrameReader();
    requests.on("error", () => undefined);
    replies.on("error", () => undefined);
    replies.on("data", (chunk: Buffer) => {
      if (this.#ended !== null) return;
      try {
        for (const frame of reader.read(chunk)) this.#take(frame);
      } catch (error) {
        this.#break(error as Error);
      }
    });
  }

  /** The id that the next request gets, by which a later one can speak of it. */
  get nextId(): number {
    return this.#last + 1;
  }

  /** The reply to it. Throws where the machine could not do it, or has ended. */
  request(op: string, values: object, body?: Buffer): Promise<Frame> {
    let reply: Frame | undefined;
    return this.stream(op, values, body, (frame) => {
      reply = frame;
      return true;
    }).then(() => reply as Frame);
  }

  /** Every reply to it, until `onReply` says that this was the last. */
  stream(op: string, values: object, body: Buffer | undefined, onReply: (frame: Frame) => boolean): Promise<void> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      const settle = (frame: Frame) => {
        const isLast = onReply(frame);
        if (isLast) resolve();
        return isLast;
      };
      this.#pending.set(id, { onReply: settle, reject });
      this.requests.write(toFrame({ ...values, id, op }, body));
    });
  }

  /** Whoever waits is told why. */
  end(why: Error): void {
    this.#ended ??= why;
    for (const { reject } of this.#pending.values()) reject(this.#ended);
    this.#pending.clear();
  }

  #take(frame: Frame): void {
    const { id, error } = headSchema.parse(frame.head);
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    if (error !== undefined) {
      this.#pending.delete(id);
      pending.reject(new GuestError(error));
      return;
    }
    if (pending.onReply(frame)) this.#pending.delete(id);
  }

  #break(error: Error): void {
    const broken = new Error(`the task's machine gave an answer that cannot be read: ${error.message}`);
    this.end(broken);
    this.onBroken(broken);
  }
}

/** What the machine could not do, in its own words. The machine goes on. */
export class GuestError extends Error {
  override readonly name = "GuestError";
}
