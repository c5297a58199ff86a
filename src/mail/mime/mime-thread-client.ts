import { Worker } from "node:worker_threads";
import { builtFile } from "../../platform/installation.js";

export interface MimeRequest {
  readonly raw: Uint8Array;
}

export type MimeReply = { readonly ready: true } | { readonly decoded: string } | { readonly error: string };

/** An error for an email that cannot be decoded. The message is worded as the end of a sentence. */
export class MimeFailed extends Error {
  override readonly name = "MimeFailed";
}

/** Limits per email. Decoding typically takes 1 ms, plus 0.1 s per MB of attachments. */
const LIMIT_MS = 5_000;
const LIMIT_MS_PER_MB = 1_000;
const LIMIT_MB = 1_024;

/**
 * Decodes parts on a thread. If a hostile email takes too long or too much memory, the thread is terminated, the email
 * counts as unreadable, and the next one gets a new thread.
 */
export class MimeThread {
  private worker: Worker | null = null;
  private last: Promise<unknown> = Promise.resolve();

  /** Decodes one email at a time, so that the time limit applies to each email. */
  decode(raw: Buffer): Promise<string> {
    const decoded = this.last.then(() => this.decodeNext(raw));
    this.last = decoded.catch(() => undefined);
    return decoded;
  }

  private async decodeNext(raw: Buffer): Promise<string> {
    this.worker ??= await startWorker();
    const { worker } = this;
    const limitMs = LIMIT_MS + (raw.length / 1_000_000) * LIMIT_MS_PER_MB;
    // Send a copy, because transferring a view would send its entire buffer.
    const order: MimeRequest = { raw: new Uint8Array(raw) };
    worker.ref();
    try {
      return await requestDecoding(worker, order, limitMs);
    } catch (error) {
      this.worker = null;
      void worker.terminate();
      throw error;
    } finally {
      // An idle worker must not keep the process alive.
      worker.unref();
    }
  }
}

function startWorker(): Promise<Worker> {
  const worker = new Worker(builtFile("mail/mime/mime-thread.js"), {
    resourceLimits: { maxOldGenerationSizeMb: LIMIT_MB },
  });
  // A terminated worker can still emit an error.
  worker.on("error", () => undefined);
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", () => {
      worker.off("error", reject);
      resolve(worker);
    });
  });
}

function requestDecoding(worker: Worker, order: MimeRequest, limitMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => end(() => reject(new MimeFailed(why)));
    const onMessage = (message: MimeReply) => {
      if ("decoded" in message) end(() => resolve(message.decoded));
      else fail("error" in message ? message.error : "the parser sent an unexpected reply");
    };
    const onError = (error: Error & { code?: string }) =>
      fail(
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? `it takes more than ${LIMIT_MB} MB of memory to parse`
          : `it cannot be parsed: ${error.message}`,
      );
    const timer = setTimeout(() => fail(`it takes more than ${Math.round(limitMs / 1_000)} s to parse`), limitMs);
    const end = (settle: () => void) => {
      clearTimeout(timer);
      worker.off("message", onMessage).off("error", onError);
      settle();
    };
    worker.on("message", onMessage).on("error", onError);
    worker.postMessage(order, [order.raw.buffer as ArrayBuffer]);
  });
}
