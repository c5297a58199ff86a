import type { Trace } from "../domain/runs/trace.js";
import { BANDS, type Band } from "../domain/scores/score-bands.js";

/** What a folder of traces for writing evals says of itself. */
export const MANIFEST_FORMAT = "art-e traces for evals, version 1";

/** What evals are written from the traces of each band. */
const PURPOSES: Readonly<Record<Band, { readonly range: string; readonly use: readonly string[] }>> = {
  high: { range: "above 0.8", use: ["regression tests", "positive cases"] },
  medium: { range: "from 0.5 to 0.8", use: ["edge cases"] },
  low: { range: "below 0.5", use: ["failure modes", "bug reproductions"] },
};

export interface BandEntry {
  readonly traceId: string;
  readonly taskId: Trace["taskId"];
  readonly epoch: number;
  readonly score: number;
  readonly ending: string;
  /** Why it is in its band. */
  readonly why: string;
}

export interface EvalsManifest {
  readonly format: typeof MANIFEST_FORMAT;
  readonly runId: string;
  readonly agentId: string;
  readonly model: string;
  readonly scorer: string;
  readonly bands: Readonly<Record<Band, BandSummary>>;
  /** Traces without that score, which are in no band, by ending. */
  readonly unscored: Readonly<Record<string, number>>;
}

interface BandSummary {
  readonly file: string;
  readonly range: string;
  readonly use: readonly string[];
  readonly count: number;
  readonly meanScore: number | null;
  readonly traces: readonly BandEntry[];
}

export function fileOfBand(band: Band): string {
  return `${band}.jsonl`;
}

export function bandEntry(trace: Trace, scorer: string, band: Band): BandEntry {
  const { traceId, taskId, epoch, ending } = trace;
  const { value, explanation } = trace.scores[scorer] ?? { value: null };
  const score = value ?? 0;
  const reasons = [
    `${scorer} ${Number(score.toFixed(3))} is ${PURPOSES[band].range}`,
    explanation,
    trace.judge?.verdict ? `judge: ${trace.judge.verdict}: ${trace.judge.reason}` : undefined,
    "grade" in trace ? trace.grade.reason : undefined,
    ending === "answered" ? undefined : `ending: ${ending}`,
  ];
  const why = reasons.filter((reason) => reason !== undefined && reason !== "").join("; ");
  return { traceId, taskId, epoch, score, ending, why };
}

export function evalsManifest(
  facts: Pick<EvalsManifest, "runId" | "agentId" | "model" | "scorer" | "unscored">,
  entries: Readonly<Record<Band, readonly BandEntry[]>>,
): EvalsManifest {
  const { unscored, ...run } = facts;
  const bands = BANDS.map((band) => [
    band,
    {
      file: fileOfBand(band),
      ...PURPOSES[band],
      count: entries[band].length,
      meanScore: meanOf(entries[band].map(({ score }) => score)),
      traces: entries[band],
    },
  ]);
  return { format: MANIFEST_FORMAT, ...run, bands: Object.fromEntries(bands), unscored };
}

function meanOf(scores: readonly number[]): number | null {
  return scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length;
}
