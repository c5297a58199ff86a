// Calls to a worker thread and their answers, sent in batches. All threads but those of user modules use it.
import { setTimeout as delay } from "node:timers/promises";
import { parentPort, Worker } from "node:worker_threads";
import { type ExitCode, UserError } from "./errors.js";
import { presentProperties } from "./optional-values.js";
import { passOnReservations } from "./reserved-files.js";

/** One call. Its answer carries the same id, and both are sent in batches. */
export interface RpcCall<Call> {
  readonly id: number;
  readonly call: Call;
}

export type RpcAnswer<Answer> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly error: RpcError };

/** An error of a thread. Structured cloning would drop its class. */
interface RpcError {
  readonly message: string;
  readonly code?: string | undefined;
  readonly stack?: string | undefined;
  /** The other properties of a UserError. */
  readonly user?: { readonly code: string; readonly hint: string; readonly exitCode: ExitCode };
}

type ThrownError = Error & { readonly code?: string };

interface WorkerRpcOptions {
  readonly data: unknown;
  /** Size of V8's young generation in MB. A larger one fills with garbage, which counts as memory. */
  readonly youngGenerationMb?: number;
  /** Memory limit in MB. A thread that needs more ends with ERR_WORKER_OUT_OF_MEMORY. */
  readonly oldGenerationMb?: number;
  /** Milliseconds within which calls after a batch are sent together, because waking a thread costs time. */
  readonly batchDelayMs?: number;
}

function toRpcError(error: ThrownError): RpcError {
  const { message, code, stack } = error;
  if (!(error instanceof UserError)) return { message, code, stack };
  return { message, stack, user: { code: error.code, hint: error.hint, exitCode: error.exitCode } };
}

function fromRpcError({ message, code, stack, user }: RpcError): Error {
  const error =
    user === undefined
      ? Object.assign(new Error(message), { code })
      : new UserError(user.code, message, user.hint, user.exitCode);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** Reports, inside the thread, that its code is loaded. The caller waits for this before it terminates the thread. */
export function tellLoaded(): void {
  parentPort?.postMessage([]);
}

/**
 * Answers calls inside the thread, in order, each as soon as it is done. `errorOf` chooses what the caller learns about
 * an error.
 */
export function serveCalls<Call, Answer>(
  answer: (call: Call) => Answer | Promise<Answer>,
  errorOf: (error: ThrownError) => RpcError = toRpcError,
): void {
  const toRpcAnswer = async ({ id, call }: RpcCall<Call>): Promise<RpcAnswer<Answer>> => {
    try {
      return { id, answer: await answer(call) };
    } catch (error) {
      return { id, error: errorOf(error as ThrownError) };
    }
  };
  parentPort?.on("message", async (calls: readonly RpcCall<Call>[]) => {
    for (const call of calls) parentPort?.postMessage([await toRpcAnswer(call)]);
  });
  tellLoaded();
}

/** Maximum milliseconds to wait for termination. A thread inside a SQLite statement terminates only after it. */
const TERMINATE_MS = 2_000;

const openThreads = new Set<{ readonly pending: number }>();

/** Returns whether any thread has unanswered calls. */
export function isAnyThreadBusy(): boolean {
  return [...openThreads].some((thread) => thread.pending > 0);
}

/** A worker thread that answers calls in any order. It keeps the process alive until it is closed. */
export class WorkerRpc<Call, Answer> {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  private readonly batchDelayMs: number;
  private calls = 0;
  private gathered: RpcCall<Call>[] = [];
  private gathering: NodeJS.Timeout | undefined;
  /** Whether one of the gathered calls is urgent. */
  private isUrgent = false;
  private handedOverAt = Number.NEGATIVE_INFINITY;
  private ended: Error | null = null;
  /** Resolves when the code of the thread is loaded, or the thread has ended. */
  readonly loaded: Promise<void>;

  constructor(file: URL, { data, youngGenerationMb, oldGenerationMb, batchDelayMs = 0 }: WorkerRpcOptions) {
    this.batchDelayMs = batchDelayMs;
    openThreads.add(this);
    passOnReservations();
    this.worker = new Worker(file, {
      workerData: data,
      resourceLimits: presentProperties({
        maxYoungGenerationSizeMb: youngGenerationMb,
        maxOldGenerationSizeMb: oldGenerationMb,
      }),
    });
    this.loaded = new Promise((resolve) => {
      this.worker.on("message", (answers: readonly RpcAnswer<Answer>[]) => {
        resolve();
        for (const answer of answers) this.settle(answer);
        if (this.isUrgent && this.waiting.size === this.gathered.length) this.handOver();
      });
      this.worker.on("error", (error) => this.end(error as Error));
      this.worker.on("exit", (code) => {
        resolve();
        this.end(new Error(`a thread exited (code ${code})`));
      });
    });
  }

  get pending(): number {
    return this.waiting.size;
  }

  /**
   * Calls the thread. Rejects with the error that the thread threw, or with the reason that it ended. An urgent call is
   * not delayed: it is sent with the other waiting calls as soon as the thread is idle.
   */
  call(call: Call, { isUrgent = false } = {}): Promise<Answer> {
    if (this.ended !== null) return Promise.reject(this.ended);
    const id = this.calls++;
    return new Promise((resolve, reject) => {
      const isIdle = this.waiting.size === this.gathered.length;
      this.waiting.set(id, { resolve, reject });
      this.gathered.push({ id, call });
      if (isUrgent) {
        this.isUrgent = true;
        if (isIdle) this.handOver();
        return;
      }
      if (this.gathering !== undefined) return;
      const wait = this.handedOverAt + this.batchDelayMs - performance.now();
      if (wait <= 0) this.handOver();
      else this.gathering = setTimeout(() => this.handOver(), wait);
    });
  }

  /**
   * Terminates the thread, even during a call, but not while it loads: SQLite's native code crashes the process if it
   * can no longer be loaded.
   */
  async close(): Promise<void> {
    clearTimeout(this.gathering);
    const waited = new AbortController();
    const late = delay(TERMINATE_MS, undefined, { signal: waited.signal }).catch(() => undefined);
    await Promise.race([this.loaded.then(() => this.worker.terminate()), late]);
    waited.abort();
  }

  private handOver(): void {
    clearTimeout(this.gathering);
    const calls = this.gathered;
    this.gathered = [];
    this.gathering = undefined;
    this.isUrgent = false;
    this.handedOverAt = performance.now();
    try {
      this.worker.postMessage(calls);
    } catch (error) {
      // A value cannot be cloned.
      for (const { id } of calls) this.settle({ id, error: error as Error });
    }
  }

  private settle(answer: RpcAnswer<Answer>): void {
    const caller = this.waiting.get(answer.id);
    this.waiting.delete(answer.id);
    if ("answer" in answer) caller?.resolve(answer.answer);
    else caller?.reject(fromRpcError(answer.error));
  }

  private end(error: Error): void {
    this.ended ??= error;
    for (const { reject } of this.waiting.values()) reject(this.ended);
    this.waiting.clear();
    openThreads.delete(this);
  }
}
