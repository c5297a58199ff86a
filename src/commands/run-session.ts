import { EXIT, type ExitCode, UserError } from "../domain/errors.js";
import { Budget } from "../runner/budget.js";
import { runTasks, type SessionEnd } from "../runner/run.js";
import { inTurns } from "../runner/turns.js";
import { findHostPython } from "../sandbox/host-python.js";
import { isScorerName } from "../scoring/scorers.js";
import { type Db, openReadOnly } from "../store/open.js";
import { threadedResultWriter } from "../store/result-writer.js";
import { attemptPages } from "../store/runs.js";
import { openMailbox } from "../tools/mailbox.js";
import { openOutside } from "../tools/outside.js";
import { toTool } from "../tools/registry.js";
import type { SearchThreads } from "../tools/search-threads.js";
import type { Door } from "./command.js";
import { printEstimate } from "./dry-run.js";
import type { OpenBackend } from "./elsewhere-backend.js";
import { openGating, refuseMissed } from "./gating.js";
import { Interrupted } from "./interrupt.js";
import { checkJudgePriced, type ReadyJudge, readyJudge } from "./ready-judge.js";
import type { RunFlags } from "./run-flags.js";
import { checkPriced } from "./run-model.js";
import { planNewRun, type RunPlan } from "./run-plan.js";
import { runProgress } from "./run-progress.js";
import { planRepeat } from "./run-repeat.js";
import { printTotals, saveResults } from "./run-results.js";
import { planResume } from "./run-resume.js";
import { fromDatabase } from "./run-source.js";
import { thisWorker } from "./worker.js";

/** The file, on this thread and on others. */
export interface Opened {
  readonly db: Db;
  readonly searchThreads: SearchThreads | undefined;
}

/**
 * One session of work on a run, new or taken up again: until its tasks are answered or it is stopped. Everything that could
 * stop it has been asked before its first task.
 */
export async function workOnRun(
  opened: Opened,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: Door,
): Promise<ExitCode> {
  const { db } = opened;
  const gating = await openGating(flags, door);
  const plan = await planOf(db, flags, argv, door);
  try {
    gating.checkComparable({ ...plan.over, settings: { ...plan.settings } });
    checkPriced(plan.model, plan.settings, flags);
    if (flags.dryRun) {
      await printEstimate(db, plan, flags, door);
      return EXIT.done;
    }
    checkJudgePriced(plan.settings.judge, flags.maxCost);
    const judge = await judgeOf(plan, flags, door);
    const end = await answerAll(opened, plan, judge, flags, door);
    if (flags.output !== undefined) await saveResults(db, flags.output, end.totals);
    // A run that was stopped says nothing yet: it goes on before it is gated.
    const gates = end.stopped === null ? await gating.check(fromDatabase(db, end.totals)) : [];
    printTotals(end.totals, gates, flags, door);
    const shortfall = judge?.shortfall() ?? null;
    if (shortfall !== null) door.out.note(`${shortfall}. Ask again: art-e score --run ${plan.runId}`);
    const code = exitCodeOf(end, door);
    refuseMissed(plan.runId, gates);
    return code;
  } finally {
    plan.model.close();
  }
}

function planOf(db: Db, flags: RunFlags, argv: Readonly<Record<string, unknown>>, door: Door): Promise<RunPlan> {
  if (flags.repeat !== undefined) return planRepeat(db, flags.repeat, flags, argv, door);
  return flags.resume === undefined ? planNewRun(db, flags, argv, door) : planResume(db, flags, argv, door);
}

/** A judge at the agent's own server shares its throttle: the limits are the account's. */
async function judgeOf({ settings, model }: RunPlan, flags: RunFlags, door: Door): Promise<ReadyJudge | null> {
  const { judge } = settings;
  if (judge === null) return null;
  const providerOf = (id: string) => id.split("/")[0];
  const isShared = providerOf(judge.model) === providerOf(settings.model) && judge.baseUrl === settings.baseUrl;
  return readyJudge(judge, door.settings, {
    timeoutMs: flags.requestTimeout * 1_000,
    throttle: isShared ? model.throttle : null,
  });
}

async function answerAll(
  { db, searchThreads }: Opened,
  plan: RunPlan,
  judge: ReadyJudge | null,
  flags: RunFlags,
  door: Door,
): Promise<SessionEnd> {
  const { settings } = door;
  const mailDb = openReadOnly(settings.db);
  const outside = openOutside(settings.env);
  const progress = runProgress(settings, plan.model.throttle);
  let elsewhere: OpenBackend | null = null;
  const writer = threadedResultWriter(settings.db);
  try {
    const session = await plan.begin(thisWorker);
    const budget = new Budget({
      maxCostUsd: flags.maxCost ?? null,
      maxTokens: flags.maxRunTokens ?? null,
      maxTimeMs: flags.maxTime === undefined ? null : flags.maxTime * 60_000,
      maxFailures: flags.maxFailures ?? null,
    });
    for await (const page of inTurns(attemptPages(db, plan.runId))) {
      for (const { result } of page) budget.charge(result);
    }
    const mailbox = openMailbox(mailDb);
    const stopNow = door.untilSecond(() => {
      const tasks = progress.underWay();
      return `Stopping: ${tasks} ${tasks === 1 ? "task" : "tasks"} under way will be finished; once more to stop now.`;
    });
    const python = plan.settings.unsafeHostPython ? { python: findHostPython } : {};
    const resources = { mailbox, searchThreads, outside, ...python };
    const where = plan.settings.elsewhere;
    if (where !== undefined) {
      const { openBackend } = await import("./elsewhere-backend.js");
      elsewhere = await openBackend(db, where, plan.settings, { model: plan.model, flags, settings, resources });
    }
    const tools = plan.tools.map((tool) => toTool(tool, resources));
    return await runTasks(
      db,
      {
        answering: {
          runId: plan.runId,
          agent: plan.agent,
          model: plan.model.model,
          tools,
          cutoff: plan.settings.cutoff,
          taskTimeoutMs: plan.settings.taskTimeoutMs,
          maxTaskCostUsd: plan.settings.maxTaskCostUsd,
          grading: {
            sameMail: (id) => mailbox.mails.canonicalId(id),
            scorers: plan.settings.scorers.filter(isScorerName),
            judge: judge?.judge ?? null,
          },
          backend: elsewhere?.backend,
          priceOf: (usage) => plan.model.priceOf(usage),
        },
        session,
        budget,
        writer,
        onConcurrency: plan.model.onConcurrency,
        windDown: door.signal,
      },
      progress.emit,
      stopNow,
    );
  } finally {
    progress.stop();
    await Promise.all([writer.close(), outside.close(), elsewhere?.close()]);
    mailDb.close();
  }
}

function exitCodeOf({ totals, stopped, asked }: SessionEnd, { out }: Door): ExitCode {
  const { runId, failedTasks, totalTasks } = totals;
  if (stopped !== null) {
    const how = `${totalTasks} of ${asked} tasks are saved. Go on with: art-e run --resume ${runId}`;
    if (stopped.by === "user") throw new Interrupted(`run ${runId} stopped: ${how}`);
    throw new UserError("run_stopped", `Run ${runId} stopped: ${stopped.why}.`, how, EXIT.failed);
  }
  if (failedTasks * 2 <= totalTasks) return EXIT.done;
  out.note(
    `art-e: ${failedTasks} of ${totalTasks} tasks failed. See why: art-e export-traces --run ${runId} --failed; answer them again: art-e run --resume ${runId} --retry-failed`,
  );
  return EXIT.gate;
}
