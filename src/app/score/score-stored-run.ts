import { UserError } from "../../domain/errors.js";
import { isEvalScore } from "../../domain/evals/score-names.js";
import type { RunTotals } from "../../domain/runs/benchmark-result.js";
import type { JudgeSettings } from "../../domain/scores/judgement.js";
import { parseModelName } from "../../models/model-name.js";
import { count } from "../../reports/text/format-number.js";
import { isScorerName } from "../../scoring/scorers.js";
import { getRun, type RunRow } from "../../store/runs/runs.js";
import { openMailbox } from "../../tools/open-mailbox.js";
import { evalsAmong, pinEvals } from "../evals/evals-as-scorers.js";
import { computeRunTotals } from "../results/compute-run-totals.js";
import { saveResults } from "../results/save-results.js";
import { thisProcess } from "../run/lock-owner.js";
import { hasKey } from "../settings/endpoints.js";
import type { Environment } from "../settings/env-file.js";
import { type AppContext, Interrupted } from "../use-case-context.js";
import { withStore } from "../with-store.js";
import { chosenScorers, recordedScorers, type ScorerChoice, wantsJudge } from "./choose-scorers.js";
import { createJudge, JUDGE_CONCURRENCY, JUDGE_TIMEOUT_MS } from "./create-judge.js";
import { asksJudge, cheapModel, isJudgeOff, type JudgeOptions, judgeSettings } from "./judge-settings.js";
import { scoreRun } from "./score-saved-traces.js";

export interface ScoreOptions extends JudgeOptions {
  readonly run: string;
  readonly scorers?: readonly ScorerChoice[] | undefined;
  /** Results file to write. */
  readonly output?: string | undefined;
}

export interface ScoredStoredRun {
  readonly totals: RunTotals;
  /** One line about answers that the judge gave no verdict on. */
  readonly shortfall: string | null;
}

/** Scores the stored traces of a run again. Its agent is not called. `onProgress` hears how many are done. */
export function scoreStoredRun(options: ScoreOptions, context: AppContext): Promise<ScoredStoredRun> {
  const { settings, note, signal } = context;
  return withStore(settings, async (db) => {
    const run = getRun(db, options.run);
    const asked = judgeOf(run, options, settings.env);
    const chosen = scorersOf(run, options, asked !== null || run.settings.judge !== null);
    const scorers = await pinEvals(db, recordedScorers(run.split, chosen), settings);
    const connection = { timeoutMs: JUDGE_TIMEOUT_MS, throttle: null, note };
    const judge = asked === null ? null : await createJudge(asked, settings, connection);
    const { mails } = openMailbox(db);
    const bar = context.progress("Scoring");
    const request = {
      scorers,
      scoring: {
        sameMail: mails.canonicalId,
        scorers: scorers.filter(isScorerName),
        evals: evalsAmong(db, scorers, settings),
        judge: judge?.judge ?? null,
      },
      concurrency: JUDGE_CONCURRENCY,
      worker: thisProcess,
      onProgress: (scored: number) => bar.update(scored, run.totalTasks, `${count(scored)} scored`),
    };
    const { scored, stopped } = await scoreRun(db, run, request, signal).finally(() => bar.stop());
    if (stopped) {
      throw new Interrupted(
        `scoring of ${run.id} stopped: ${count(scored)} tasks are saved. Go on with the same command.`,
      );
    }
    const totals = await computeRunTotals(db, getRun(db, run.id));
    if (options.output !== undefined) await saveResults(db, options.output, totals);
    return { totals, shortfall: judge?.shortfall() ?? null };
  });
}

/** Tasks of suites are scored by what their evaluation functions gave, and by their answers where these have gold. */
function scorersOf({ id, split, settings }: RunRow, options: ScoreOptions, hasVerdicts: boolean): ScorerChoice[] {
  if (split !== "suite") return chosenScorers(options.scorers, hasVerdicts);
  const hasAnswers = settings.scorers.includes("exactMatch");
  const evals = options.scorers?.filter(isEvalScore) ?? [];
  const isOnlyEvals = evals.length === (options.scorers?.length ?? 0);
  if (!hasAnswers && (!isOnlyEvals || asksJudge(options))) {
    throw new UserError(
      "flags_contradict",
      `--${isOnlyEvals ? "judge" : "scorers"} is for tasks with a gold answer, and run ${id} has none.`,
      "Leave it out.",
    );
  }
  return hasAnswers ? chosenScorers(options.scorers, hasVerdicts) : evals;
}

/**
 * The judge asked for; else the judge of the run, else the one a run would have by default, where there is a key for
 * it.
 */
function judgeOf(run: RunRow, options: ScoreOptions, env: Environment): JudgeSettings | null {
  if (isJudgeOff(options) || (!asksJudge(options) && !wantsJudge(options.scorers)))
    return judgeSettings(options, null, null, env);
  const { provider } = parseModelName(run.settings.model, null);
  const judge = judgeSettings(options, run.settings.judge, cheapModel(provider, run.settings.baseUrl, env), env);
  if (judge === null || asksJudge(options) || judge.baseUrl !== null) return judge;
  return hasKey(parseModelName(judge.model, null).provider, env) ? judge : null;
}
