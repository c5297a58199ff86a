import pLimit from "p-limit";
import { UserError } from "../../domain/errors.js";
import { addCost } from "../../domain/runs/cost.js";
import type { Calibration, LabelledVerdict } from "../../domain/scores/judge-calibration.js";
import type { Judge, JudgeSettings } from "../../domain/scores/judgement.js";
import { count } from "../../reports/text/format-number.js";
import { calibration } from "../../run-analysis/measure-calibration.js";
import type { AppContext } from "../use-case-context.js";
import { createJudge, JUDGE_CONCURRENCY, JUDGE_TIMEOUT_MS } from "./create-judge.js";
import { anyCheapModel, type JudgeOptions, judgeSettings } from "./judge-settings.js";
import { type Labelled, readLabels } from "./read-labels.js";

/** A calibration as a user asks for it. */
export interface CalibrateOptions extends JudgeOptions {
  /** File of labels. */
  readonly labels: string;
}

export interface JudgeCalibration {
  readonly judge: JudgeSettings;
  readonly figures: CalibrationRun;
  /** One line about answers that the judge gave no verdict on. */
  readonly shortfall: string | null;
}

/** Compares the verdicts of a judge with labels that people gave. Throws where there is no judge. */
export async function calibrateJudge(options: CalibrateOptions, context: AppContext): Promise<JudgeCalibration> {
  const { settings, note, signal } = context;
  const items = readLabels(options.labels);
  const judge = judgeSettings(options, null, anyCheapModel(settings.env), settings.env);
  if (judge === null) {
    throw new UserError(
      "judge_missing",
      "There is no judge to calibrate.",
      "Name one: --judge provider/model, or set the key of a provider.",
    );
  }
  const created = await createJudge(judge, settings, { timeoutMs: JUDGE_TIMEOUT_MS, throttle: null, note });
  const bar = context.progress("Judging");
  const showProgress = (judged: number) => bar.update(judged, items.length, `${count(judged)}/${count(items.length)}`);
  const figures = await calibrate(items, created.judge, JUDGE_CONCURRENCY, showProgress, signal).finally(() =>
    bar.stop(),
  );
  return { judge, figures, shortfall: created.shortfall() };
}

export interface CalibrationRun extends Calibration {
  readonly costUsd: number | null;
}

/** Has the judge score answers that people have labelled, and measures how far they agree. */
export async function calibrate(
  items: readonly Labelled[],
  judge: Judge,
  concurrency: number,
  onProgress: (judged: number) => void,
  signal: AbortSignal,
): Promise<CalibrationRun> {
  let judged = 0;
  let costUsd: number | null = 0;
  const rows = await pLimit(concurrency).map([...items], async (item): Promise<LabelledVerdict> => {
    signal.throwIfAborted();
    const { verdict, reason, agreement, costUsd: cost } = await judge.judge(item, signal);
    costUsd = addCost(costUsd, cost);
    onProgress(++judged);
    return { ...item, verdict, reason, agreement };
  });
  signal.throwIfAborted();
  return { ...calibration(rows), costUsd };
}
