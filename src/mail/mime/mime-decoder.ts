// Decodes MIME parts on a thread that is terminated if an email takes too long.
import { NEVER, withDeadline } from "../../platform/deadline.js";
import { builtFile } from "../../platform/program-files.js";
import { WorkerRpc } from "../../platform/worker-rpc.js";

/** An error for an email that cannot be decoded. The message is worded as the end of a sentence. */
export class MimeFailed extends Error {
  override readonly name = "MimeFailed";
}

/** Limits per email. Decoding typically takes 1 ms, plus 0.1 s per MB of attachments. */
const LIMIT_MS = 5_000;
const LIMIT_MS_PER_MB = 1_000;
const LIMIT_MB = 1_024;

/**
 * Decodes parts on a thread. If a hostile email takes too long or uses too much memory, the thread is terminated, the
 * email counts as unreadable, and a new thread is started for the next one.
 */
export class MimeDecoder {
  private thread: WorkerRpc<Uint8Array, string> | null = null;
  private last: Promise<unknown> = Promise.resolve();

  /** Decodes one email at a time, so that the time limit applies to each email. */
  decode(raw: Buffer): Promise<string> {
    const decoded = this.last.then(() => this.decodeNext(raw));
    this.last = decoded.catch(() => undefined);
    return decoded;
  }

  async close(): Promise<void> {
    const { thread } = this;
    this.thread = null;
    await thread?.close();
  }

  private async decodeNext(raw: Buffer): Promise<string> {
    this.thread ??= new WorkerRpc(builtFile("mail/mime/mime-thread.js"), { data: null, oldGenerationMb: LIMIT_MB });
    const { thread } = this;
    await thread.loaded;
    const limitMs = LIMIT_MS + (raw.length / 1_000_000) * LIMIT_MS_PER_MB;
    const late = () => new MimeFailed(`it takes more than ${Math.round(limitMs / 1_000)} s to parse`);
    try {
      // A copy, because cloning a view would clone its entire buffer.
      return await withDeadline(NEVER, limitMs, late, () => thread.call(new Uint8Array(raw)));
    } catch (error) {
      void this.close();
      throw toMimeFailed(error as Error & { readonly code?: string });
    }
  }
}

function toMimeFailed(error: Error & { readonly code?: string }): MimeFailed {
  if (error instanceof MimeFailed) return error;
  return new MimeFailed(
    error.code === "ERR_WORKER_OUT_OF_MEMORY"
      ? `it takes more than ${LIMIT_MB} MB of memory to parse`
      : `it cannot be parsed: ${error.message}`,
  );
}
