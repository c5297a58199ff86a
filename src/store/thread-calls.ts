import { Worker } from "node:worker_threads";

/** A call to a thread and its answer bear the same number. Calls go one at a time; answers come as many as there are. */
export interface ThreadCall<Call> {
  readonly id: number;
  readonly call: Call;
}

export type ThreadAnswer<Answer> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly error: { readonly message: string; readonly code?: string | undefined } };

/** A thread that answers calls in any order. It keeps the process alive until it is closed. */
export class ThreadCalls<Call, Answer> {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  private calls = 0;
  private ended: Error | null = null;

  /** @param youngMegabytes room for what a call makes: what is too much is filled with garbage, and counts as memory */
  constructor(file: URL, workerData: unknown, youngMegabytes: number) {
    this.worker = new Worker(file, { workerData, resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes } });
    this.worker.on("message", (answers: readonly ThreadAnswer<Answer>[]) => {
      for (const answer of answers) this.settle(answer);
    });
    this.worker.on("error", (error) => this.end(error as Error));
    this.worker.on("exit", (code) => this.end(new Error(`a thread ended (${code})`)));
  }

  /** Calls that have no answer yet. */
  get pending(): number {
    return this.waiting.size;
  }

  /** Rejects with what the thread threw, and where it has ended. */
  call(call: Call): Promise<Answer> {
    if (this.ended !== null) return Promise.reject(this.ended);
    const id = this.calls++;
    return new Promise((resolve, reject) => {
      // Throws, and so rejects, where the call cannot be copied.
      this.worker.postMessage({ id, call } satisfies ThreadCall<Call>);
      this.waiting.set(id, { resolve, reject });
    });
  }

  /** Ends the thread, whatever it is doing. */
  async close(): Promise<void> {
    await this.worker.terminate();
  }

  private settle(answer: ThreadAnswer<Answer>): void {
    const caller = this.waiting.get(answer.id);
    this.waiting.delete(answer.id);
    if ("answer" in answer) caller?.resolve(answer.answer);
    else caller?.reject(Object.assign(new Error(answer.error.message), { code: answer.error.code }));
  }

  private end(error: Error): void {
    this.ended ??= error;
    for (const { reject } of this.waiting.values()) reject(this.ended);
    this.waiting.clear();
  }
}
