import type { CommandContext } from "../../commands/cli/command.js";
import { printEstimate } from "../../commands/run/dry-run.js";
import type { RunFlags } from "../../commands/run/run-flags.js";
import { runProgress } from "../../commands/run/run-progress.js";
import { printTotals, saveResults } from "../../commands/run/run-results.js";
import { stoppedError } from "../../commands/run/stopped-error.js";
import { EXIT, type ExitCode } from "../../domain/errors.js";
import { yieldBetween } from "../../platform/yield-to-event-loop.js";
import { findHostPython } from "../../sandbox/host-python.js";
import { isScorerName } from "../../scoring/scorers.js";
import type { FileWatch } from "../../store/connection/file-watch.js";
import { type Db, openReadOnly } from "../../store/connection/open-store.js";
import { threadedResultWriter } from "../../store/runs/result-writer.js";
import { attemptPages } from "../../store/runs/results.js";
import { getRun } from "../../store/runs/runs.js";
import { openExternalResources } from "../../tools/external/external-resources.js";
import { toTool } from "../../tools/load-tools.js";
import { openMailbox } from "../../tools/mailbox.js";
import type { SearchPool } from "../../tools/search-pool/search-pool.js";
import { openGates, refuseMissed } from "../gates/run-gates.js";
import { fromDatabase } from "../results/open-results.js";
import { type CreatedJudge, checkJudgePriced, createJudge } from "../score/create-judge.js";
import { Budget } from "./budget.js";
import { checkPriced } from "./create-model.js";
import { guardRunFile } from "./guard-database.js";
import { withOtherModelNotes } from "./note-other-model.js";
import type { OpenAgentTarget } from "./open-agent-target.js";
import { planNewRun, type RunPlan } from "./plan-new-run.js";
import { planRepeat } from "./plan-repeat.js";
import { planResume } from "./plan-resume.js";
import { limitsText } from "./run-limits.js";
import { runTasks, type SessionEnd } from "./run-tasks.js";
import { notesOnSent } from "./sent-parameters.js";
import { forcedProcess, thisProcess } from "./this-process.js";

/** The file, on this thread and on others. */
export interface Opened {
  readonly db: Db;
  readonly searchThreads: SearchPool | undefined;
  readonly watch: FileWatch;
}

/**
 * One session of work on a run, new or taken up again: until its tasks are answered or it is stopped. Everything that could
 * stop it has been asked before its first task.
 */
export async function executeRun(
  opened: Opened,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: CommandContext,
): Promise<ExitCode> {
  const { db } = opened;
  const gating = await openGates(flags, door);
  const plan = await planOf(db, flags, argv, door);
  for (const note of notesOnSent(plan.settings)) door.out.note(note);
  try {
    gating.checkComparable({ ...plan.over, settings: { ...plan.settings } });
    checkPriced(plan.model, plan.settings, plan.limits);
    tellLimits(plan, flags, door);
    if (flags.dryRun) {
      await printEstimate(db, plan, flags, door);
      return EXIT.done;
    }
    checkJudgePriced(plan.settings.judge, plan.limits);
    const judge = await judgeOf(plan, flags, door);
    const end = await answerAll(opened, plan, judge, flags, door);
    const written = { ...flags, output: plan.output };
    if (plan.output !== undefined) await saveResults(db, plan.output, end.totals);
    // A run that was stopped says nothing yet: it goes on before it is gated.
    const gates = end.stopped === null ? await gating.check(fromDatabase(db, end.totals)) : [];
    // Of a run that could not begin to answer, there is nothing to be seen in a table.
    const isEmpty = end.totals.totalTasks === 0 && end.stopped !== null && end.stopped.by !== "user";
    if (!isEmpty || door.settings.json) printTotals(end.totals, gates, written, door);
    const shortfall = judge?.shortfall() ?? null;
    if (shortfall !== null) door.out.note(`${shortfall}. Ask again: art-e score --run ${plan.runId}`);
    const code = exitCodeOf(end, door);
    refuseMissed(plan.runId, gates);
    return code;
  } finally {
    plan.model.close();
  }
}

function planOf(
  db: Db,
  flags: RunFlags,
  argv: Readonly<Record<string, unknown>>,
  door: CommandContext,
): Promise<RunPlan> {
  if (flags.repeat !== undefined) return planRepeat(db, flags.repeat, flags, argv, door);
  return flags.resume === undefined ? planNewRun(db, flags, argv, door) : planResume(db, flags, argv, door);
}

/** A judge at the agent's own server shares its throttle: the limits are the account's. */
async function judgeOf(
  { settings, model }: RunPlan,
  flags: RunFlags,
  door: CommandContext,
): Promise<CreatedJudge | null> {
  const { judge } = settings;
  if (judge === null) return null;
  const providerOf = (id: string) => id.split("/")[0];
  const isShared = providerOf(judge.model) === providerOf(settings.model) && judge.baseUrl === settings.baseUrl;
  return createJudge(judge, door.settings, {
    timeoutMs: flags.requestTimeout * 1_000,
    throttle: isShared ? model.throttle : null,
    note: door.out.note,
  });
}

async function answerAll(
  { db, searchThreads, watch }: Opened,
  plan: RunPlan,
  judge: CreatedJudge | null,
  flags: RunFlags,
  door: CommandContext,
): Promise<SessionEnd> {
  const { settings, out } = door;
  const stopNow = door.untilSecond(() => {
    const tasks = progress.underWay();
    return `Stopping: ${tasks} ${tasks === 1 ? "task" : "tasks"} under way will be finished; once more to stop now.`;
  });
  const mailDb = openReadOnly(settings.db);
  const outside = openExternalResources(settings.env);
  const progress = runProgress(settings, plan.model.throttle);
  let elsewhere: OpenAgentTarget | null = null;
  const waiting = { signal: stopNow, onWait: tellWait(settings.db, out) };
  const writer = threadedResultWriter(settings.db, waiting);
  const guard = guardRunFile({ db, path: settings.db, runId: plan.runId, watch }, waiting, door);
  try {
    const session = await plan.begin(flags.force ? forcedProcess : thisProcess, { ...waiting, signal: door.signal });
    const budget = new Budget(plan.limits, getRun(db, plan.runId).activeMs);
    for await (const page of yieldBetween(attemptPages(db, plan.runId))) {
      for (const { result } of page) budget.charge(result);
    }
    const mailbox = openMailbox(mailDb);
    const python = plan.settings.unsafeHostPython ? { python: findHostPython } : {};
    const resources = { mailbox, searchThreads, outside, ...python };
    const where = plan.settings.elsewhere;
    if (where !== undefined) {
      const { openAgentTarget: openBackend } = await import("./open-agent-target.js");
      elsewhere = await openBackend(db, where, plan.settings, { model: plan.model, flags, settings, resources });
    }
    const tools = plan.tools.map((tool) => toTool(tool, resources));
    const end = await runTasks(
      db,
      {
        answering: {
          runId: plan.runId,
          agent: plan.agent,
          model: withOtherModelNotes(plan.model.model, door.out.note),
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
          priceOf: plan.model.priceOf,
        },
        session,
        budget,
        writer,
        onConcurrency: plan.model.onConcurrency,
        windDown: door.signal,
        waiting,
      },
      progress.emit,
      stopNow,
    );
    return await guard.ended(end, writer.recent());
  } catch (error) {
    throw await guard.explain(error, writer.recent());
  } finally {
    progress.stop();
    await Promise.all([writer.close(), outside.close(), elsewhere?.close()]);
    mailDb.close();
  }
}

/** Of a run that was begun earlier: nobody gave them now. */
function tellLimits({ runId, limits }: RunPlan, flags: RunFlags, { out }: CommandContext): void {
  const text = limitsText(limits);
  if (text === "" || (flags.resume === undefined && flags.repeat === undefined)) return;
  out.note(`art-e: limits of run ${runId}: ${text}. Give one again to change it.`);
}

function tellWait(path: string, out: CommandContext["out"]): () => void {
  let isTold = false;
  return () => {
    if (!isTold) out.note(`art-e: another program is writing to ${path}; waiting until it has finished.`);
    isTold = true;
  };
}

function exitCodeOf(end: SessionEnd, { out }: CommandContext): ExitCode {
  const { runId, failedTasks, totalTasks } = end.totals;
  if (end.stopped !== null) throw stoppedError(end, end.stopped);
  if (failedTasks * 2 <= totalTasks) return EXIT.done;
  out.note(
    `art-e: ${failedTasks} of ${totalTasks} tasks failed. See why: art-e export-traces --run ${runId} --failed; answer them again: art-e run --resume ${runId} --retry-failed`,
  );
  return EXIT.gate;
}
