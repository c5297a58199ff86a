import { UserError } from "../../domain/errors.js";
import type { StoredEval } from "../../domain/evals/eval-definition.js";
import { isPass } from "../../domain/evals/eval-outcome.js";
import type { Agreement } from "../../domain/evals/eval-test.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import { count } from "../../reports/text/format-number.js";
import { correctedRate } from "../../statistics/rogan-gladen.js";
import { wilson } from "../../statistics/wilson.js";
import type { Db } from "../../store/connection/open-store.js";
import { latestTest } from "../../store/evals/eval-tests.js";
import { getRun } from "../../store/runs/runs.js";
import { releaseRun } from "../../store/runs/score-writes.js";
import { thisProcess } from "../run/lock-owner.js";
import { acquireRunLock } from "../run/run-lock.js";
import { rewriteScores } from "../score/score-saved-traces.js";
import { withEvals } from "../score/score-trace.js";
import { type AppContext, Interrupted } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { openEvalBackends, requireRunnable } from "./backends/eval-backends.js";
import { scoringEvals } from "./evals-as-scorers.js";
import { openEvals } from "./open-evals.js";

export interface EvalRunFigures {
  readonly stored: StoredEval;
  readonly passed: number;
  readonly failed: number;
  readonly notApplicable: number;
  readonly errors: number;
  /** Null: there are none. */
  readonly firstError: string | null;
  /** As observed, and as it would be without the errors that the newest test measured; null without a test. */
  readonly passRate: Estimate;
  readonly corrected: Estimate | null;
  /** Share of the good traces that it fails, by its newest test; null without one. */
  readonly falseAlarms: Estimate | null;
}

export interface EvalRun {
  readonly runId: string;
  readonly traces: number;
  readonly evals: readonly EvalRunFigures[];
}

/** Traces per batch: a process of the sandbox takes a tenth of a second to start. */
const BATCH = 500;

/** Runs evals over the stored traces of a run, beside the scores that these have. */
export function runEvalsOverRun(names: readonly string[], runName: string, context: AppContext): Promise<EvalRun> {
  const { settings, signal } = context;
  return withStore(settings, async (db) => {
    const evals = openEvals(db, names);
    const run = getRun(db, runName);
    const definitions = evals.map(({ definition }) => definition);
    const counts = evals.map(() => ({ ...NO_COUNTS }));
    await requireRunnable(definitions, settings);
    const bar = context.progress("Evals");
    const scoring = scoringEvals(definitions, openEvalBackends(settings));
    const score = async (traces: readonly Trace[]): Promise<Trace[]> => {
      const outcomes = await scoring.run(traces, signal);
      for (const ofTrace of outcomes) {
        for (const [i, outcome] of ofTrace.entries()) {
          const of = counts[i];
          if (of === undefined) continue;
          of[kindOf(outcome)]++;
          of.firstError ??= outcome.error;
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
      return {
        runId: run.id,
        traces: scored,
        evals: evals.map((stored, i) => figuresOf(db, stored, counts[i] ?? NO_COUNTS)),
      };
    } finally {
      bar.stop();
      releaseRun(db, run.id, thisProcess.name);
    }
  });
}

interface Counts extends Record<"passed" | "failed" | "notApplicable" | "errors", number> {
  firstError: string | null;
}

const NO_COUNTS: Counts = { passed: 0, failed: 0, notApplicable: 0, errors: 0, firstError: null };

function kindOf({ score, error }: { score: number | null; error: string | null }): Exclude<keyof Counts, "firstError"> {
  if (error !== null) return "errors";
  if (score === null) return "notApplicable";
  return isPass(score) ? "passed" : "failed";
}

function figuresOf(db: Db, stored: StoredEval, counts: Counts): EvalRunFigures {
  const { passed, failed } = counts;
  const n = passed + failed;
  const passRate = { value: n === 0 ? null : passed / n, n, ...wilson(passed, n) };
  const agreement = latestTest(db, stored.id)?.report.agreement;
  return {
    stored,
    ...counts,
    passRate,
    corrected: agreement === undefined ? null : correctedPassRate(agreement, passed, n),
    falseAlarms: agreement?.falseFailureRate ?? null,
  };
}

function correctedPassRate({ confusion, good, bad }: Agreement, passed: number, n: number): Estimate {
  return correctedRate(
    { successes: passed, n },
    { successes: confusion.goodPassed, n: good },
    { successes: confusion.badFailed, n: bad },
  );
}
