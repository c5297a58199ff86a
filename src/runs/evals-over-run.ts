// Runs evals over the stored traces of a run or of chats, and saves their scores.
import {
  type EvalDefinition,
  type EvaluatedTrace,
  isDataEval,
  type StoredEval,
  type TracedAgent,
  type Validation,
  validationOf,
} from "../evals/definition.js";
import type { EvalOutcome } from "../evals/eval-outcome.js";
import { traceIdsToLabel } from "../evals/labels.js";
import { measuredErrors, type PassRates, PassTally } from "../evals/pass-rates.js";
import { openEvalBackends, requireRunnable } from "../evals/run-evals.js";
import { scoringEvals, withVersions } from "../evals/scoring-evals.js";
import { questionKeys } from "../evals/split-questions.js";
import { latestTest } from "../evals/store.js";
import { activeEvals } from "../evals/use-evals.js";
import { agentOfRun, agentsOfTraces, type OtherAgents, otherAgents } from "../evals/validated-agents.js";
import { type AppContext, Interrupted } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { type Db, withStore } from "../store/open-store.js";
import { canBeRetried } from "../tasks/ending.js";
import { counted } from "../text/format.js";
import { saveChatScores } from "../traces/chats-store.js";
import { releaseRun, saveScoringSettings } from "../traces/results-store.js";
import { acquireRunLock, thisProcess } from "../traces/run-lock.js";
import { getRun } from "../traces/runs-store.js";
import type { ChatTrace, Trace } from "../traces/trace.js";
import { getTrace, readTraces } from "../traces/traces-store.js";
import { rewriteScores, withEvals } from "./score-traces.js";

interface EvalRunFigures extends PassRates {
  readonly stored: StoredEval;
  /** Result of the eval's newest test. `stale` if its labels have changed since. */
  readonly validation: Validation;
  readonly passed: number;
  readonly failed: number;
  readonly notApplicable: number;
  /** Number of failed tasks that the eval does not fail. They are not judged. */
  readonly failedTasks: number;
  readonly errors: number;
  readonly firstError: string | null;
  /** Null if the eval was validated on the agents of these traces, or if these traces have enough labels. */
  readonly otherAgents: OtherAgents | null;
}

export interface EvalRun {
  /** Run id, or null for chats. */
  readonly runId: string | null;
  readonly traces: number;
  readonly evals: readonly EvalRunFigures[];
}

/** Traces per batch. A sandbox process takes a tenth of a second to start. */
const BATCH = 500;

/** Runs evals on one stored trace from a run, a chat or another program. Saves nothing. */
export function runEvalsOnTrace(
  names: readonly string[],
  traceName: string,
  { settings, signal }: Pick<AppContext, "settings" | "signal">,
): Promise<readonly { readonly definition: EvalDefinition; readonly outcome: EvalOutcome }[]> {
  return withStore(settings, async (db) => {
    const definitions = activeEvals(db, names).map(({ definition }) => definition);
    await requireRunnable(definitions, settings);
    const [outcomes = []] = await scoringEvals(definitions, openEvalBackends(settings)).run(
      [getTrace(db, traceName)],
      signal,
    );
    return definitions.flatMap((definition, i) => {
      const outcome = outcomes[i];
      return outcome === undefined ? [] : [{ definition, outcome }];
    });
  });
}

export function runEvalsOverRun(names: readonly string[], runName: string, context: AppContext): Promise<EvalRun> {
  const { settings, signal } = context;
  return withStore(settings, async (db) => {
    const run = getRun(db, runName);
    const evals = await openEvalRun(db, names, context);
    const bar = context.progress("Evals");
    acquireRunLock(db, run.id, thisProcess);
    try {
      let saved = 0;
      const show = (done: number) => bar.update(done, run.totalTasks, counted(done, "trace"));
      const onProgress = (done: number) => {
        saved = done;
        show(done);
      };
      const score = (traces: readonly Trace[]) => evals.score(traces, (done) => show(saved + done));
      const { scored, stopped } = await rewriteScores(db, run.id, { batch: BATCH, onProgress }, score, signal);
      if (stopped)
        throw new Interrupted(
          `stopped after ${counted(scored, "trace")} of ${run.id}. Continue with the same command.`,
        );
      if (scored === 0)
        throw new UserError("run_empty", `Run ${run.id} has no traces to evaluate.`, "Pass another run.");
      const scorers = withVersions(run.settings.scorers, evals.definitions);
      saveScoringSettings(db, run.id, { ...run.settings, scorers });
      return { runId: run.id, traces: scored, evals: evals.figures([agentOfRun(run)], run.id) };
    } finally {
      bar.stop();
      releaseRun(db, run.id, thisProcess.name);
    }
  });
}

/** Runs evals over all chats, and over other programs' traces that do not belong to a run. */
export function runEvalsOverChats(names: readonly string[], context: AppContext): Promise<EvalRun> {
  const { settings, signal } = context;
  return withStore(settings, async (db) => {
    const evals = await openEvalRun(db, names, context);
    const ids = traceIdsToLabel(db, null);
    const bar = context.progress("Evals");
    try {
      for (let done = 0; done < ids.length; done += BATCH) {
        const show = (more: number) => bar.update(done + more, ids.length, counted(done + more, "chat"));
        show(0);
        const batch = [...readTraces<ChatTrace>(db, ids.slice(done, done + BATCH))];
        saveChatScores(db, await evals.score(batch, show));
        if (signal.aborted)
          throw new Interrupted(`stopped after ${counted(done, "chat")}. Continue with the same command.`);
      }
      if (ids.length === 0) throw new UserError("chats_none", "No chats to evaluate.", "Pass a run.");
      return { runId: null, traces: ids.length, evals: evals.figures(agentsOfTraces(db, ids), null) };
    } finally {
      bar.stop();
    }
  });
}

/** Opens evals with a tally of their results so far. */
async function openEvalRun(db: Db, names: readonly string[], { settings, signal }: AppContext) {
  const tallies = activeEvals(db, names).map((stored) => ({
    stored,
    passes: new PassTally(),
    notApplicable: 0,
    failedTasks: 0,
    errors: 0,
    firstError: null as string | null,
  }));
  const definitions = tallies.map(({ stored }) => stored.definition);
  await requireRunnable(definitions, settings);
  const slow = definitions.filter((definition) => !isDataEval(definition)).length;
  let onOutcome = () => {};
  const scoring = scoringEvals(definitions, openEvalBackends(settings, { onOutcome: () => onOutcome() }));
  return {
    definitions,
    /**
     * Returns the traces with the evals' scores, and adds the outcomes to the tallies. Reports how many of the traces
     * are done, on average over the evals.
     */
    async score<T extends EvaluatedTrace>(traces: readonly T[], onProgress: (done: number) => void): Promise<T[]> {
      let done = 0;
      onOutcome = () => onProgress(Math.floor(++done / slow));
      const outcomes = await scoring.run(traces, signal);
      for (const [k, trace] of traces.entries()) {
        for (const [i, tally] of tallies.entries()) {
          const { score = null, error = null } = outcomes[k]?.[i] ?? {};
          tally.firstError ??= error;
          if (error !== null) tally.errors++;
          else if (score === null && canBeRetried(trace.ending)) tally.failedTasks++;
          else if (score === null) tally.notApplicable++;
          else tally.passes.add("taskId" in trace ? trace.taskId : questionKeys(trace)[0], score, trace.traceId);
        }
      }
      return traces.map((trace, i) => withEvals(trace, definitions, outcomes[i] ?? []));
    },
    figures(agents: readonly TracedAgent[], runId: string | null): EvalRunFigures[] {
      return tallies.map(({ stored, passes, ...counts }) => {
        const { passed, failed } = passes;
        const test = latestTest(db, stored);
        const errors = measuredErrors(db, { stored, test });
        const figures = passes.figures(errors?.agreement ?? null, errors?.labels ?? new Map());
        const isMeasuredHere = test === null || errors === null || figures.labelsOfRun > 0;
        const others = isMeasuredHere ? null : otherAgents(test.report, agents, runId);
        return { stored, validation: validationOf(test), passed, failed, ...counts, ...figures, otherAgents: others };
      });
    },
  };
}
