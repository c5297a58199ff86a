import type { AdmittedChat, ChatAdmission } from "../../app/chat/prepare-chat.js";
import { ApiError } from "./api-error.js";

/** The abort reason of a chat's signal. */
export class ChatEnded extends Error {
  override readonly name = "ChatEnded";

  constructor(
    readonly by: "client" | "server",
    message: string,
  ) {
    super(message);
  }
}

/** Limits chats to so many at once, and to one at a time in a session. */
export class ChatLimits implements ChatAdmission {
  private readonly open = new Set<AbortController>();
  private readonly sessions = new Set<string>();
  private stopping = false;
  private onEmpty: (() => void) | null = null;

  constructor(readonly max: number) {}

  get count(): number {
    return this.open.size;
  }

  /** Throws an ApiError where the limit is reached. */
  admit(sessionId: string): AdmittedChat {
    if (this.stopping) throw overloaded("The server is stopping.", 5);
    if (this.open.size >= this.max) throw overloaded(`${this.max} chats are under way, which is all there may be.`, 2);
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

  /** Admits no more chats, and aborts those that are not finished within `graceMs`. Resolves when none is left. */
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
