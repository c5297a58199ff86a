// Limits concurrent chats of the server, and ends them when the server stops.
import { ApiError } from "./app/api-error.js";

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
      abandon: (reason) => controller.abort(new Error(reason)),
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
      for (const controller of this.open) controller.abort(new Error("The server is stopping."));
    }, graceMs);
    await new Promise<void>((resolve) => {
      this.onEmpty = resolve;
    });
    clearTimeout(timer);
  }
}

/** A running chat. */
interface AdmittedChat {
  readonly signal: AbortSignal;
  /** Aborts the chat because its client has disconnected. */
  abandon(reason: string): void;
  /** Lets another chat start. */
  release(): void;
}

function overloaded(message: string, retryAfterSeconds: number): ApiError {
  return new ApiError("OVERLOADED", message, null, { "retry-after": String(retryAfterSeconds) });
}
