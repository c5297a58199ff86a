import { ApiError } from "./api-error.js";

/** Why a chat was ended from outside; the reason of its signal. */
export class ChatEnded extends Error {
  override readonly name = "ChatEnded";

  constructor(
    readonly by: "client" | "server",
    message: string,
  ) {
    super(message);
  }
}

/** One chat under way. */
export interface OpenChat {
  readonly signal: AbortSignal;
  /** Nobody listens any more. */
  abandon(why: string): void;
  end(): void;
}

/** The chats under way: not too many at once, and one at a time in a session. */
export class ChatLimits {
  private readonly open = new Set<AbortController>();
  private readonly sessions = new Set<string>();
  private stopping = false;
  private onEmpty: (() => void) | null = null;

  constructor(readonly most: number) {}

  get count(): number {
    return this.open.size;
  }

  /** Throws an ApiError where there is no room. */
  begin(sessionId: string): OpenChat {
    if (this.stopping) throw overloaded("The server is stopping.", 5);
    if (this.open.size >= this.most)
      throw overloaded(`${this.most} chats are under way, which is all there may be.`, 2);
    if (this.sessions.has(sessionId)) {
      throw new ApiError("CONFLICT", `Session ${sessionId} is busy with another chat.`);
    }
    const controller = new AbortController();
    this.open.add(controller);
    this.sessions.add(sessionId);
    return {
      signal: controller.signal,
      abandon: (why) => controller.abort(new ChatEnded("client", why)),
      end: () => {
        this.open.delete(controller);
        this.sessions.delete(sessionId);
        if (this.open.size === 0) this.onEmpty?.();
      },
    };
  }

  /** Begins no more; those under way have `graceMs` to finish, and are ended then. Resolves when none is left. */
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
