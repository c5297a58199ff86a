import { EXIT, type ExitCode, UserError } from "../domain/errors.js";
import { Budget } from "../runner/budget.js";
import { runTasks, type SessionEnd } from "../runner/run.js";
import { isScorerName } from "../scoring/scorers.js";
import { type Db, openStore } from "../store/open.js";
import { iterateResults, iterateSuperseded } from "../store/runs.js";
import { openMailbox } from "../tools/mailbox.js";
import { loadTools } from "../tools/registry.js";
import type { Command, Door } from "./command.js";
import { printEstimate } from "./dry-run.js";
import { readFlags } from "./flags.js";
import { Interrupted } from "./interrupt.js";
import { refuseContradictions } from "./question-flags.js";
import { checkJudgePriced, type ReadyJudge, readyJudge } from "./ready-judge.js";
import { RUN_FLAGS, type RunFlags, refuseServerFlags, runSchema } from "./run-flags.js";
import { checkPriced } from "./run-model.js";
import { agentOfNewRun, planNewRun, planResume, type RunPlan } from "./run-plan.js";
import { runProgress } from "./run-progress.js";
import { printTotals, saveResults } from "./run-results.js";
import { printDatasetFigures } from "./stats.js";
import { thisWorker } from "./worker.js";
import { checkWritable } from "./write-file.js";

export const runCommand: Command = {
  flags: RUN_FLAGS,
  async run(argv, door) {
    const flags = readFlags("run", runSchema, argv);
    refuseContradictions(flags);
    if (flags.stats) {
      await printDatasetFigures(flags, door);
      return EXIT.done;
    }
    refuseServerFlags(flags);
    if (flags.resume === undefined) agentOfNewRun(flags);
    if (flags.output !== undefined) checkWritable("--output", flags.output);
    if (flags.record !== undefined) checkWritable("--record", flags.record);
    const db = openStore(door.settings.db, { mustExist: true });
    try {
      const plan = flags.resume === undefined ? planNewRun(db, flags, door) : planResume(db, flags, argv, door);
      return await carryOut(db, await plan, flags, door);
    } finally {
      db.close();
    }
  },
};

/** Everything that could stop the run has been asked before its first task. */
async function carryOut(db: Db, plan: RunPlan, flags: RunFlags, door: Door): Promise<ExitCode> {
  try {
    checkPriced(plan.model, plan.settings, flags);
    if (flags.dryRun) {
      printEstimate(db, plan, flags, door);
      return EXIT.done;
    }
    checkJudgePriced(plan.settings.judge, flags.maxCost);
    const judge = await judgeOf(plan, flags, door);
    const end = await answerAll(db, plan, judge, flags, door);
    if (flags.output !== undefined) saveResults(db, flags.output, end.totals);
    printTotals(end.totals, flags, door);
    const shortfall = judge?.shortfall() ?? null;
    if (shortfall !== null) door.out.note(`${shortfall}. Ask again: art-e score --run ${plan.runId}`);
    return exitCodeOf(end, door);
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
  db: Db,
  plan: RunPlan,
  judge: ReadyJudge | null,
  flags: RunFlags,
  { settings, signal }: Door,
): Promise<SessionEnd> {
  const mailbox = openMailbox(db);
  const tools = loadTools(db, plan.agent, { mailbox });
  const session = plan.begin(thisWorker);
  const budget = new Budget({
    maxCostUsd: flags.maxCost ?? null,
    maxTokens: flags.maxRunTokens ?? null,
    maxTimeMs: flags.maxTime === undefined ? null : flags.maxTime * 60_000,
    maxFailures: flags.maxFailures ?? null,
  });
  for (const result of iterateResults(db, plan.runId)) budget.charge(result);
  for (const result of iterateSuperseded(db, plan.runId)) budget.charge(result);
  const progress = runProgress(settings, plan.model.throttle);
  try {
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
          priceOf: (usage) => plan.model.priceOf(usage),
        },
        session,
        budget,
        onConcurrency: plan.model.onConcurrency,
      },
      progress.emit,
      signal,
    );
  } finally {
    progress.stop();
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
