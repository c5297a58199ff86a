import type { AgentBackend } from "../../domain/agents/agent-backend.js";
import { type Model, ModelError } from "../../domain/models/model.js";

/** Why nothing further of a run can succeed. */
export interface ServerFault {
  /** The key is refused, the model is unknown, or nothing answers. */
  readonly by: "key" | "model" | "server";
  readonly why: string;
}

/** How long a server that has answered before may be silent before it is taken for dead: a restart takes less. */
const PATIENCE_MS = 180_000;

/** Failed tasks in a row, nothing answered between them, that show a dead server: one question may be what a server dies of. */
const ENOUGH = { unreachable: 1, silent: 3, refusing: 20 } as const;

/**
 * Tells a server that is dead from one that fails now and then. Where it has never answered, a connection that does not come
 * about shows it at once; where it has, only after some time without any reply.
 */
export class ServerWatch {
  private lastReplyAt: number | null = null;
  private failedInARow = 0;
  private lastFailure: unknown = null;
  private found: ServerFault | null = null;
  /** Errors of model calls: a task may also run out of time in a tool. */
  private readonly ofCalls = new WeakSet<object>();

  constructor(
    private readonly patienceMs = PATIENCE_MS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get fault(): ServerFault | null {
    return this.found;
  }

  /** Whether anything was answered after the last failure. */
  get isAnswering(): boolean {
    return this.failedInARow === 0;
  }

  /** The same model, its replies heard. */
  model({ id, complete }: Model): Model {
    return {
      id,
      complete: (request, signal) =>
        this.hear(
          complete(request, signal),
          // What was kept from an earlier run says nothing about the server.
          (reply) => reply.cached !== true,
        ),
    };
  }

  /** The same agent elsewhere, its answers heard. That it takes long is no silence: nobody knows what it is doing. */
  backend(backend: AgentBackend): AgentBackend {
    const isSilence = (error: Error) => error instanceof ModelError && error.kind !== "timeout";
    return { answer: (task, transcript) => this.hear(backend.answer(task, transcript), () => true, isSilence) };
  }

  /** A task has failed with this error. True: whether it counts is known when something is answered, or nothing more is. */
  failed(error: unknown): boolean {
    if (this.found !== null) return false;
    this.found = hopeless(error);
    const kind = this.kindOf(error);
    if (this.found !== null || kind === null) return false;
    this.failedInARow++;
    this.lastFailure = error;
    const isLong = this.lastReplyAt === null || (isUnanswered(error) && this.silentMs() >= this.patienceMs);
    if (isLong && this.failedInARow >= ENOUGH[kind]) this.found = dead(error);
    return this.found === null && kind !== "refusing";
  }

  /** No task is left to be asked: a server that could be reached before and cannot now has not failed these tasks alone. */
  close(): void {
    if (this.found === null && !this.isAnswering && isUnreachable(this.lastFailure))
      this.found = dead(this.lastFailure);
  }

  private async hear<T>(
    call: Promise<T>,
    isReply: (answer: T) => boolean,
    counts: (error: Error) => boolean = () => true,
  ): Promise<T> {
    try {
      const answer = await call;
      if (isReply(answer)) {
        this.lastReplyAt = this.now();
        this.failedInARow = 0;
      }
      return answer;
    } catch (error) {
      if (error instanceof Error && counts(error)) this.ofCalls.add(error);
      throw error;
    }
  }

  private silentMs(): number {
    return this.now() - (this.lastReplyAt ?? Number.NEGATIVE_INFINITY);
  }

  /** Null: no failure of a call. */
  private kindOf(error: unknown): keyof typeof ENOUGH | null {
    if (!(error instanceof Error) || !this.ofCalls.has(error)) return null;
    if (isUnreachable(error)) return "unreachable";
    return error instanceof ModelError && error.kind !== "network" && error.kind !== "timeout" ? "refusing" : "silent";
  }
}

/** A refused key, an account without money and an unknown model are so for every task. */
export function hopeless(error: unknown): ServerFault | null {
  if (!(error instanceof ModelError)) return null;
  const { kind, message, retryable } = error;
  if (kind === "not_found") return { by: "model", why: message };
  return kind === "auth" || (kind === "rate_limit" && !retryable) ? { by: "key", why: message } : null;
}

function isUnreachable(error: unknown): boolean {
  return error instanceof ModelError && error.unreachable;
}

/** Neither an answer nor a refusal that is about the task. */
function isUnanswered(error: unknown): boolean {
  return !(error instanceof ModelError) || error.status === null || error.status >= 500;
}

function dead(error: unknown): ServerFault {
  if (!(error instanceof ModelError)) {
    const why = `nothing was answered while ${ENOUGH.silent} tasks and more ran out of time`;
    return { by: "server", why: `the server does not answer: ${why}` };
  }
  const { message } = error;
  const why = /ECONNREFUSED/.test(message) ? "connection refused" : /ENOTFOUND/.test(message) ? "no such host" : null;
  const said = error.status === null ? "the server does not answer" : "the server answers nothing but errors";
  return { by: "server", why: `${said}${why === null ? "" : ` (${why})`}: ${message}` };
}
