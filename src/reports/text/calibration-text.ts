import type { Calibration } from "../../domain/scores/judge-calibration.js";
import type { JudgeSettings } from "../../domain/scores/judgement.js";
import { stripControls } from "../../platform/strip-controls.js";
import { estimate } from "./format-estimate.js";
import { count, usd } from "./format-number.js";
import { summaryBox } from "./summary-box.js";

/** How well a judge agrees with human labels, and the disagreements. */
export function calibrationText(
  judge: JudgeSettings,
  figures: Calibration & { readonly costUsd: number | null },
): string {
  const votes = judge.votes === 1 ? "" : `, ${judge.votes} votes`;
  const head = summaryBox(`ART-E Judge: ${judge.model} (${judge.protocol}${votes})`, [
    ["Labels", `${count(figures.labels)}, ${count(figures.unscored)} without a verdict`],
    ["Accuracy", estimate(figures.accuracy)],
    ["Precision", estimate(figures.precision)],
    ["Recall", estimate(figures.recall)],
    ["Cohen's kappa", estimate(figures.kappa)],
    ["Disagreements", count(figures.disagreements.length)],
    ["Cost", usd(figures.costUsd)],
  ]);
  const disagreements = figures.disagreements.map((row) =>
    [
      "",
      `Question: ${row.question}`,
      `Gold:     ${row.gold}`,
      `Answer:   ${row.answer}`,
      `Label:    ${row.label}`,
      `Judge:    ${row.verdict ?? "-"}: ${row.reason}`,
    ].join("\n"),
  );
  return stripControls([head, ...disagreements].join("\n"));
}
