import { openEvalBackends, requireRunnable } from "../evals/backends.js";
import { type EvalDefinition, type Proof, proofOf, type StoredEval } from "../evals/definition.js";
import type { EvalOutcome } from "../evals/eval-outcome.js";
import { latestTest } from "../evals/store.js";
import { openEvals, type PassRates, PassTally, scoringEvals, withVersions } from "../evals/use-evals.js";
import { type AppContext, Interrupted } from "../platform/context.js";
import { UserError } from "../platform/errors.js";
import { withStore } from "../store/open-store.js";
import { count } from "../text/format.js";
import { releaseRun, saveScoringSettings } from "../traces/results-store.js";
import { acquireRunLock, getRun, thisProcess } from "../traces/runs-store.js";
import type { Trace } from "../traces/trace.js";
import { getTrace } from "../traces/traces-store.js";
import { rewriteScores, withEvals } from "./score-traces.js";

export interface EvalRunFigures extends PassRates {
  readonly stored: StoredEval;
  /** What its newest test says of it; `stale`: its labels have changed since. */
  readonly proof: Proof;
  readonly passed: number;
  readonly failed: number;
  readonly notApplicable: number;
  readonly errors: number;
  readonly firstError: string | null;
}

export interface EvalRun {
  readonly runId: string;
  readonly traces: number;
  readonly evals: readonly EvalRunFigures[];
}

/** Traces per batch: a process of the sandbox takes a tenth of a second to start. */
const BATCH = 500;

/** What evals say of one stored trace, of a run, a chat or another program. Nothing is saved. */
export function runEvalsOnTrace(
  names: readonly string[],
  traceName: string,
  { settings, signal }: Pick<AppContext, "settings" | "signal">,
): Promise<readonly { readonly definition: EvalDefinition; readonly outcome: EvalOutcome }[]> {
  return withStore(settings, async (db) => {
    const definitions = openEvals(db, names).map(({ definition }) => definition);
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
    const evals = openEvals(db, names);
    const run = getRun(db, runName);
    const definitions = evals.map(({ definition }) => definition);
    const tallies = evals.map((stored) => ({
      stored,
      passes: new PassTally(),
      ...{ notApplicable: 0, errors: 0, firstError: null as string | null },
    }));
    await requireRunnable(definitions, settings);
    const bar = context.progress("Evals");
    const scoring = scoringEvals(definitions, openEvalBackends(settings));
    const score = async (traces: readonly Trace[]): Promise<Trace[]> => {
      const outcomes = await scoring.run(traces, signal);
      for (const [k, { taskId }] of traces.entries()) {
        for (const [i, tally] of tallies.entries()) {
          const { score = null, error = null } = outcomes[k]?.[i] ?? {};
          tally.firstError ??= error;
          if (error !== null) tally.errors++;
          else if (score === null) tally.notApplicable++;
          else tally.passes.add(taskId, score);
        }
      }
      return traces.map((trace, i) => withEvals(trace, definitions, outcomes[i] ?? []));
    };
    acquireRunLock(db, run.id, thisProcess);
    try {
      const onProgress = (done: number) => bar.update(done, run.totalTasks, `${count(done)} traces`);
      const { scored, stopped } = await rewriteScores(db, run.id, { batch: BATCH, onProgress }, score, signal);
      if (stopped) throw new Interrupted(`${count(scored)} traces of ${run.id} are done. Go on with the same command.`);
      if (scored === 0)
        throw new UserError("run_empty", `Run ${run.id} has no traces to run evals over.`, "Name another run.");
      const scorers = withVersions(run.settings.scorers, definitions);
      saveScoringSettings(db, run.id, { ...run.settings, scorers });
      return {
        runId: run.id,
        traces: scored,
        evals: tallies.map(({ stored, passes, ...counts }) => {
          const { passed, failed } = passes;
          const proof = latestTest(db, stored);
          const agreement = proof === null || proof.isStale ? null : proof.report.agreement;
          return { stored, proof: proofOf(proof), passed, failed, ...counts, ...passes.figures(agreement) };
        }),
      };
    } finally {
      bar.stop();
      releaseRun(db, run.id, thisProcess.name);
    }
  });
}
