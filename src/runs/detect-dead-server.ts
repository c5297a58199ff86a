// Decides when a run gives up on its server, as opposed to occasional failures.
import type { AgentBackend } from "../agents/agent-backend.js";
import { ANSWERED_WEB_PAGE, type Model, ModelError } from "../models/model.js";
import type { TaskId } from "../tasks/question.js";

/** The reason why no further task of a run can succeed. */
export interface ServerFault {
  readonly by: "key" | "account" | "model" | "tools" | "server";
  readonly why: string;
}

/** Milliseconds of silence after which a server that has answered before counts as dead. A restart takes less time. */
const PATIENCE_MS = 180_000;

/**
 * Consecutive failed tasks, without an answer between them, that indicate a dead server. A single task might have
 * crashed it.
 */
const ENOUGH = { unreachable: 1, silent: 3, refusing: 20 } as const;

/**
 * Different tasks in a row that failed with the same error, which is then not about one question. After an answer, more
 * are required: if a server declines two of five questions, five of them in a row are common.
 */
const ENOUGH_ALIKE = { beforeAnswer: 5, afterAnswer: 10 } as const;

/**
 * Distinguishes a dead server from occasional failures. A server that has never answered is dead at the first failed
 * connection. A server that has answered before is dead only after some time without a reply.
 */
export class ServerWatch {
  private lastReplyAt: number | null = null;
  private failedInARow = 0;
  private lastFailure: unknown = null;
  private found: ServerFault | null = null;
  private hasAnsweredTask = false;
  /** The last error and the tasks that failed with it since the last answered task. */
  private alike: { error: string; readonly tasks: Set<TaskId> } = { error: "", tasks: new Set() };
  /** Errors from model calls only, because a task can also run out of time in a tool. */
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

  /** Returns the same external agent with its answers observed. A long answer does not count as silence. */
  backend(backend: AgentBackend): AgentBackend {
    const isSilence = (error: Error) => error instanceof ModelError && error.kind !== "timeout";
    return { answer: (task, transcript) => this.hear(backend.answer(task, transcript), () => true, isSilence) };
  }

  /** Records a task that ended without a failure. */
  answered(): void {
    this.hasAnsweredTask = true;
    this.alike.tasks.clear();
  }

  /**
   * Records a failed task. Returns true if the next answer, or the end of the run, decides whether the failure counts.
   */
  failed(error: unknown, task: TaskId): boolean {
    if (this.found !== null) return false;
    const kind = this.kindOf(error);
    this.found = failsEveryTask(error) ?? (kind === "refusing" ? this.failsAlike(error as ModelError, task) : null);
    if (this.found !== null || kind === null) return false;
    this.failedInARow++;
    this.lastFailure = error;
    const isLong = this.lastReplyAt === null || (isUnanswered(error) && this.silentMs() >= this.patienceMs);
    if (isLong && this.failedInARow >= ENOUGH[kind]) this.found = dead(error);
    return this.found === null && kind !== "refusing";
  }

  /**
   * Called when no task is left. A server that was reachable before but no longer is counts as dead, because more than
   * these tasks would fail.
   */
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

  /** Returns the fault if different tasks fail with the same error. A long prompt is about one question. */
  private failsAlike({ kind, message }: ModelError, task: TaskId): ServerFault | null {
    if (kind === "context_overflow" && this.hasAnsweredTask) return null;
    // Request IDs, token counts and times differ.
    const error = message.replace(/[\w-]*\d[\w-]*/g, "#");
    if (error !== this.alike.error) this.alike = { error, tasks: new Set() };
    const { size } = this.alike.tasks.add(task);
    if (size < ENOUGH_ALIKE[this.hasAnsweredTask ? "afterAnswer" : "beforeAnswer"]) return null;
    return { by: "server", why: `${size} tasks in a row failed with the same error: ${message}` };
  }

  private silentMs(): number {
    return this.now() - (this.lastReplyAt ?? Number.NEGATIVE_INFINITY);
  }

  /** Returns the kind of a failed model call, or null for any other error. */
  private kindOf(error: unknown): keyof typeof ENOUGH | null {
    if (!(error instanceof Error) || !this.ofCalls.has(error)) return null;
    if (isUnreachable(error)) return "unreachable";
    return error instanceof ModelError && error.kind !== "network" && error.kind !== "timeout" ? "refusing" : "silent";
  }
}

/**
 * Returns the fault if an error would fail every task: a rejected key or certificate, an empty account, a usage limit
 * that lasts hours, an unknown model, or rejected tools. Returns null for any other error.
 */
export function failsEveryTask(error: unknown): ServerFault | null {
  if (!(error instanceof ModelError)) return null;
  const { kind, message, unreachable, retryable } = error;
  const isUntrusted = unreachable && !retryable;
  if (isUntrusted || message.includes(ANSWERED_WEB_PAGE)) return { by: "server", why: message };
  if (kind === "not_found") return { by: "model", why: message };
  if (kind === "bad_tools") return { by: "tools", why: message };
  if (kind === "unavailable") return { by: "account", why: message };
  return kind === "auth" ? { by: "key", why: message } : null;
}

function isUnreachable(error: unknown): boolean {
  return error instanceof ModelError && error.unreachable;
}

/** Whether the server returned neither an answer nor an error about the task. */
function isUnanswered(error: unknown): boolean {
  return !(error instanceof ModelError) || error.status === null || error.status >= 500;
}

function dead(error: unknown): ServerFault {
  if (!(error instanceof ModelError)) {
    const why = `it did not answer while at least ${ENOUGH.silent} tasks timed out`;
    return { by: "server", why: `the server does not answer: ${why}` };
  }
  const { message } = error;
  const why = /ECONNREFUSED/.test(message) ? "connection refused" : /ENOTFOUND/.test(message) ? "no such host" : null;
  const reason = error.status === null ? "the server does not answer" : "the server answers only with errors";
  return { by: "server", why: `${reason}${why === null ? "" : ` (${why})`}: ${message}` };
}
