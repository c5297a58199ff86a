import { EXIT, type ExitCode, UserError } from "../domain/errors.js";
import { Budget } from "../runner/budget.js";
import { runTasks, type SessionEnd } from "../runner/run.js";
import { inTurns } from "../runner/turns.js";
import { findHostPython } from "../sandbox/host-python.js";
import { isScorerName } from "../scoring/scorers.js";
import { type Db, keepSmall, leaveLog, openReadOnly, openStore } from "../store/open.js";
import { threadedResultWriter } from "../store/result-writer.js";
import { attemptPages } from "../store/runs.js";
import { letThisThreadGoFirst } from "../store/urgency.js";
import { openMailbox } from "../tools/mailbox.js";
import { openOutside } from "../tools/outside.js";
import { toTool } from "../tools/registry.js";
import { SearchThreads } from "../tools/search-threads.js";
import type { Command, Door } from "./command.js";
import { printEstimate } from "./dry-run.js";
import type { OpenBackend } from "./elsewhere-backend.js";
import { readFlags } from "./flags.js";
import { type Gating, openGating, refuseMissed } from "./gating.js";
import { Interrupted } from "./interrupt.js";
import { refuseContradictions } from "./question-flags.js";
import { checkJudgePriced, type ReadyJudge, readyJudge } from "./ready-judge.js";
import { elsewhereOf } from "./run-elsewhere.js";
import { RUN_FLAGS, type RunFlags, runSchema } from "./run-flags.js";
import { checkPriced } from "./run-model.js";
import { agentOfNewRun, planNewRun, type RunPlan } from "./run-plan.js";
import { runProgress } from "./run-progress.js";
import { planRepeat } from "./run-repeat.js";
import { printTotals, saveResults } from "./run-results.js";
import { planResume } from "./run-resume.js";
import { usesMailHere } from "./run-settings.js";
import { fromDatabase } from "./run-source.js";
import { keepHeapSmall } from "./small-heap.js";
import { printDatasetFigures } from "./stats.js";
import { thisWorker } from "./worker.js";
import { checkWritable } from "./write-file.js";

/**
 * Half a core compiles in the first seconds of a run, when all tasks begin at once. With 10 a run of 5,000 tasks at 200 ms a
 * call is 2 % faster on two cores, and one without latency not slower; with 19 it varies more.
 */
const LESS_URGENT = 10;

export const runCommand: Command = {
  flags: RUN_FLAGS,
  async run(argv, door) {
    keepHeapSmall();
    letThisThreadGoFirst(LESS_URGENT);
    const flags = readFlags("run", runSchema, argv);
    refuseContradictions(flags);
    if (flags.stats) {
      await printDatasetFigures(flags, door);
      return EXIT.done;
    }
    if (flags.resume === undefined && flags.repeat === undefined) agentOfNewRun(flags);
    if (flags.output !== undefined) checkWritable("--output", flags.output);
    if (flags.record !== undefined) checkWritable("--record", flags.record);
    const readsMail = needsFile(flags, door);
    const db = openStore(door.settings.db, { mustExist: readsMail });
    keepSmall(db);
    leaveLog(db);
    // Before all else: the threads get ready while the questions are read and the run is laid down.
    const searchThreads = readsMail && !flags.dryRun ? new SearchThreads(door.settings.db) : undefined;
    try {
      const gating = await openGating(flags, door);
      return await carryOut({ db, searchThreads }, await planOf(db, flags, argv, door), gating, flags, door);
    } finally {
      await searchThreads?.close();
      db.close();
    }
  },
};

/** The file, on this thread and on others. */
interface Opened {
  readonly db: Db;
  readonly searchThreads: SearchThreads | undefined;
}

/** An agent elsewhere with mail of its own needs none here: a file for the results is made. */
function needsFile(flags: RunFlags, { settings }: Door): boolean {
  if (flags.resume !== undefined || flags.repeat !== undefined) return true;
  return usesMailHere(elsewhereOf(flags, settings.env));
}

function planOf(db: Db, flags: RunFlags, argv: Readonly<Record<string, unknown>>, door: Door): Promise<RunPlan> {
  if (flags.repeat !== undefined) return planRepeat(db, flags.repeat, flags, argv, door);
  return flags.resume === undefined ? planNewRun(db, flags, argv, door) : planResume(db, flags, argv, door);
}

/** Everything that could stop the run has been asked before its first task. */
async function carryOut(opened: Opened, plan: RunPlan, gating: Gating, flags: RunFlags, door: Door): Promise<ExitCode> {
  const { db } = opened;
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
