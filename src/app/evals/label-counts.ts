import { createHash } from "node:crypto";
import { UserError } from "../../domain/errors.js";
import type { EvalLabel } from "../../domain/evals/label.js";
import type { Estimate } from "../../domain/scores/interval-estimate.js";
import { MIN_OF_A_KIND } from "../../evalgen/proof/thresholds.js";
import { clusteredRate } from "../../statistics/f1.js";
import type { Db } from "../../store/connection/open-store.js";
import { type EffectiveLabel, effectiveLabels, repeatedLabels } from "../../store/evals/labels.js";

export interface LabelSummary {
  /** Of the labels that count: of each trace that of its best source. */
  readonly labels: Readonly<Record<EvalLabel, number>>;
  /** How often a person who was asked again said the same. */
  readonly selfAgreement: Estimate;
}

export function summarizeLabels(db: Db, criterion: string): LabelSummary {
  const labels: Record<EvalLabel, number> = { good: 0, bad: 0, neutral: 0, skip: 0 };
  for (const { label } of effectiveLabels(db, criterion)) labels[label]++;
  const repeated = repeatedLabels(db, criterion).map(({ first, again }, i) => ({
    success: first === again,
    cluster: String(i),
  }));
  return { labels, selfAgreement: clusteredRate(repeated) };
}

/** Below, people disagree with themselves too much for an eval to agree with them. */
export const LOW_SELF_AGREEMENT = 0.8;

/** Names a set of labels: another label, and it is another set. */
export function hashLabels(labels: readonly Pick<EffectiveLabel, "traceId" | "label">[]): string {
  const lines = labels.map(({ traceId, label }) => `${traceId} ${label}\n`).sort();
  return `sha256:${createHash("sha256").update(lines.join("")).digest("hex")}`;
}

/** Throws where a half has too few labels of a kind to measure anything by. */
export function requireLabels(half: "training" | "held-out", good: number, bad: number, criterion: string): void {
  if (good >= MIN_OF_A_KIND && bad >= MIN_OF_A_KIND) return;
  const name = criterion === "overall" ? "" : ` for ${criterion}`;
  throw new UserError(
    "labels_few",
    `The ${half} half has ${good} good and ${bad} bad traces${name}; fewer than ${MIN_OF_A_KIND} of a kind measure nothing.`,
    "Label more: art-e evals label, or art-e evals label --from scores. Questions are split in halves, so twice as many are needed in all.",
  );
}
