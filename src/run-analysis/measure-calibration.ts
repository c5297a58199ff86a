import type { Estimate } from "../domain/scores/interval-estimate.js";
import type { Calibration, LabelledVerdict } from "../domain/scores/judge-calibration.js";
import { kappa } from "../statistics/kappa.js";
import { wilson } from "../statistics/wilson.js";

export function calibration(rows: readonly LabelledVerdict[]): Calibration {
  const scored = rows.filter(({ verdict }) => verdict !== null);
  const count = (label: boolean, verdict: boolean) =>
    scored.filter((row) => (row.label === "correct") === label && (row.verdict === "correct") === verdict).length;
  const bothCorrect = count(true, true);
  const judgeOnly = count(false, true);
  const labelOnly = count(true, false);
  const neither = count(false, false);
  return {
    labels: rows.length,
    unscored: rows.length - scored.length,
    accuracy: rate(bothCorrect + neither, scored.length),
    precision: rate(bothCorrect, bothCorrect + judgeOnly),
    recall: rate(bothCorrect, bothCorrect + labelOnly),
    kappa: kappa([
      [bothCorrect, judgeOnly],
      [labelOnly, neither],
    ]),
    confusion: { bothCorrect, judgeOnly, labelOnly, neither },
    disagreements: scored.filter(({ label, verdict }) => (label === "correct") !== (verdict === "correct")),
  };
}

function rate(successes: number, n: number): Estimate {
  return { value: n === 0 ? null : successes / n, n, ...wilson(successes, n) };
}
