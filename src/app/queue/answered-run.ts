import type { Redis } from "ioredis";
import { taskCost } from "../../domain/runs/cost.js";
import type { Trace } from "../../domain/runs/trace.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { compressJson } from "../../queue/compress-json.js";
import type { ResultMessage, RunManifest, TaskMessage, WorkerState } from "../../queue/messages.js";
import { addSpending, setReachedLimit } from "../../queue/run-spending.js";
import { SharedLimits } from "../../queue/shared-limits.js";
import { TaskWorker } from "../../queue/task-worker.js";
import type { ToolResources } from "../../tools/tool-handler.js";
import { questionOpener } from "../questions/art-e-suite.js";
import { buildAnswering, resourcesOf } from "../run/answer/build-answering.js";
import { answerHere, type TaskAnswerer } from "../run/answer/task-answerer.js";
import { limitReached } from "../run/budget.js";
import { type CreatedModel, createModel } from "../run/create-model.js";
import { type ServerFault, ServerWatch } from "../run/detect-dead-server.js";
import { createRunJudge } from "../score/create-judge.js";
import type { AppSettings } from "../use-case-context.js";
import { accountOf } from "./provider-account.js";
import { RecentRate } from "./recent-rate.js";

/** What the runs of a worker share. */
export interface WorkerResources {
  readonly redis: Redis;
  readonly name: string;
  readonly tools: ToolResources;
  readonly settings: AppSettings;
  readonly concurrency: number | "auto";
  readonly lockMs: number;
  note(text: string): void;
}

/** A run that this worker answers tasks of. */
export class AnsweredRun {
  private readonly tasks: TaskWorker;
  private readonly rate = new RecentRate();
  private readonly watch: ServerWatch;
  private active = 0;
  private wanted = 1;

  private constructor(
    private readonly manifest: RunManifest,
    private readonly attempt: string,
    private readonly model: CreatedModel,
    private readonly answerer: TaskAnswerer,
    watch: ServerWatch,
    private readonly shared: WorkerResources,
  ) {
    this.watch = watch;
    model.onConcurrency((slots) => {
      this.wanted = slots;
    });
    this.tasks = new TaskWorker(shared.redis, {
      runId: manifest.runId,
      name: shared.name,
      slots: this.wanted,
      lockMs: shared.lockMs,
      answer: (message, signal) => this.answer(message, signal),
      onDropped: (id) =>
        shared.note(`art-e: the result of ${id} of run ${manifest.runId} came too late and is dropped.`),
    });
  }

  /** Loads the run's agent, its tools and its judge. Throws a UserError for what is not to be had here. */
  static async open(manifest: RunManifest, attempt: string, shared: WorkerResources): Promise<AnsweredRun> {
    const { runId, settings, requests } = manifest;
    const { timeoutMs, rpm, tpm, cache } = requests;
    const { env } = shared.settings;
    const limits = new SharedLimits(shared.redis, { runId, account: accountOf(settings, env), rpm, tpm });
    const options = { concurrency: shared.concurrency, requestTimeout: timeoutMs / 1_000, cache, shared: limits };
    const how = { append: false, callsModel: true };
    const model = await createModel(settings, options, shared.settings, how);
    const judge = await createRunJudge(
      settings,
      model,
      timeoutMs,
      shared.settings,
      shared.note,
      judgeLimits(manifest, shared),
    );
    const answering = buildAnswering(
      {
        runId,
        settings,
        model,
        tools: manifest.tools,
        suite: { open: questionOpener(settings.cutoff) },
        // The coordinator runs them, which has their definitions.
        evals: [],
        judge: judge?.judge ?? null,
      },
      resourcesOf(settings, shared.tools),
      shared.note,
    );
    const watch = new ServerWatch();
    return new AnsweredRun(manifest, attempt, model, answerHere(answering, watch), watch, shared);
  }

  /** Why no further task can succeed here. */
  get fault(): ServerFault | null {
    return this.watch.fault;
  }

  /** Tasks under way. */
  get underWay(): number {
    return this.active;
  }

  state(): WorkerState["runs"][string] {
    const limiter = this.model.throttle?.state();
    return {
      attempt: this.attempt,
      active: this.active,
      answered: this.rate.total,
      perSecond: this.rate.perSecond(),
      waitingFor: limiter?.why ?? null,
    };
  }

  /** Takes at most so many tasks at once, and no more than the server takes. */
  setSlots(most: number): void {
    this.tasks.setSlots(Math.max(1, Math.min(most, this.wanted)));
  }

  /** Takes no further task. */
  pause(): Promise<void> {
    return this.tasks.pause();
  }

  /** Gives back what is under way. */
  abort(): void {
    this.tasks.abort();
  }

  /** Ends when nothing is under way. */
  async close(): Promise<void> {
    await this.tasks.close();
    this.model.close();
  }

  /** A limit holds for the run as a whole: whoever finds it reached stops all workers. */
  private async charge(trace: Trace): Promise<void> {
    const { redis } = this.shared;
    const { runId } = this.manifest;
    const { spent, judgeCostUsd } = taskCost(trace);
    const { spending, limits } = await addSpending(redis, runId, {
      costUsd: (spent.costUsd ?? 0) + (judgeCostUsd ?? 0),
      tokens: spent.usage.inputTokens + spent.usage.outputTokens,
      isFailed: isFailure(trace.ending),
    });
    const reached = limitReached(limits, spending);
    if (reached === null) return;
    await setReachedLimit(redis, runId, reached);
    await this.tasks.pauseAll();
  }

  private async answer({ task, epoch }: TaskMessage, signal: AbortSignal): Promise<ResultMessage | null> {
    this.active++;
    try {
      const answered = await this.answerer.answer({ task, epoch }, signal);
      if (answered === null) {
        // Otherwise this worker would take the task again at once.
        await this.tasks.pause();
        return null;
      }
      const { trace, isHeld } = answered;
      const { name } = this.shared;
      this.rate.add();
      await this.charge(trace);
      return { worker: name, trace: await compressJson("Its trace", trace), isHeld, server: this.watch.server };
    } finally {
      this.active--;
    }
  }
}

/** A server that refuses the judge at one worker is left alone by all. Undefined: there is no judge. */
function judgeLimits(
  { runId, settings: { judge } }: RunManifest,
  { redis, settings: { env } }: WorkerResources,
): SharedLimits | undefined {
  if (judge === null) return undefined;
  const account = accountOf({ ...judge, wireApi: null }, env);
  return new SharedLimits(redis, { runId, account, rpm: null, tpm: null });
}
