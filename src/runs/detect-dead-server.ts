import type { AgentBackend } from "../agents/agent.js";
import { ANSWERED_WEB_PAGE, type Model, ModelError } from "../models/model.js";

/** Why no further task of a run can succeed. */
export interface ServerFault {
  readonly by: "key" | "account" | "model" | "server";
  readonly why: string;
}

/** Silence after which a server that has answered before counts as dead. A restart takes less. */
const PATIENCE_MS = 180_000;

/** Consecutive failed tasks, without an answer between them, that show a dead server. One alone may have crashed it. */
const ENOUGH = { unreachable: 1, silent: 3, refusing: 20 } as const;

/**
 * Distinguishes a dead server from occasional failures. A server that has never answered is dead at the first failed
 * connection; one that has answered before, only after some time without any reply.
 */
export class ServerWatch {
  private lastReplyAt: number | null = null;
  private failedInARow = 0;
  private lastFailure: unknown = null;
  private found: ServerFault | null = null;
  /** Errors of model calls only: a task may also run out of time in a tool. */
  private readonly ofCalls = new WeakSet<object>();

  constructor(
    private readonly patienceMs = PATIENCE_MS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get fault(): ServerFault | null {
    return this.found;
  }

  get isAnswering(): boolean {
    return this.failedInARow === 0;
  }

  get server(): "answering" | "failing" | "unreachable" {
    if (this.isAnswering) return "answering";
    return isUnreachable(this.lastFailure) ? "unreachable" : "failing";
  }

  model({ id, complete }: Model): Model {
    return {
      id,
      complete: (request, signal) =>
        this.hear(
          complete(request, signal),
          // A cached reply says nothing about the server.
          (reply) => reply.cached !== true,
        ),
    };
  }

  /** The same external agent, with its answers observed. A long answer does not count as silence. */
  backend(backend: AgentBackend): AgentBackend {
    const isSilence = (error: Error) => error instanceof ModelError && error.kind !== "timeout";
    return { answer: (task, transcript) => this.hear(backend.answer(task, transcript), () => true, isSilence) };
  }

  /** Records a failed task. True: whether the failure counts is decided by the next answer, or the end of the run. */
  failed(error: unknown): boolean {
    if (this.found !== null) return false;
    this.found = failsEveryTask(error);
    const kind = this.kindOf(error);
    if (this.found !== null || kind === null) return false;
    this.failedInARow++;
    this.lastFailure = error;
    const isLong = this.lastReplyAt === null || (isUnanswered(error) && this.silentMs() >= this.patienceMs);
    if (isLong && this.failedInARow >= ENOUGH[kind]) this.found = dead(error);
    return this.found === null && kind !== "refusing";
  }

  /** No task is left: a server that was reachable before and is not now is dead for more than these tasks. */
  close(): void {
    if (this.found === null && this.server === "unreachable") this.found = dead(this.lastFailure);
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

  /** Null: not a failure of a model call. */
  private kindOf(error: unknown): keyof typeof ENOUGH | null {
    if (!(error instanceof Error) || !this.ofCalls.has(error)) return null;
    if (isUnreachable(error)) return "unreachable";
    return error instanceof ModelError && error.kind !== "network" && error.kind !== "timeout" ? "refusing" : "silent";
  }
}

/** A refused key or certificate, an empty account, a limit of hours and an unknown model fail every task alike. */
export function failsEveryTask(error: unknown): ServerFault | null {
  if (!(error instanceof ModelError)) return null;
  const { kind, message, unreachable, retryable } = error;
  const isUntrusted = unreachable && !retryable;
  if (isUntrusted || message.includes(ANSWERED_WEB_PAGE)) return { by: "server", why: message };
  if (kind === "not_found") return { by: "model", why: message };
  if (kind === "unavailable") return { by: "account", why: message };
  return kind === "auth" ? { by: "key", why: message } : null;
}

function isUnreachable(error: unknown): boolean {
  return error instanceof ModelError && error.unreachable;
}

/** Neither an answer nor an error that is about the task. */
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
