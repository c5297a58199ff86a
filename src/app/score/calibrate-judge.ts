import pLimit from "p-limit";
import { z } from "zod";
import { addCost } from "../../domain/runs/cost.js";
import type { Calibration, Label, LabelledVerdict } from "../../domain/scores/judge-calibration.js";
import type { Judge } from "../../domain/scores/judgement.js";
import { calibration } from "../../evaluation/measure-calibration.js";

/** Labels as people write them. */
const LABELS: Readonly<Record<string, Label>> = {
  correct: "correct",
  true: "correct",
  yes: "correct",
  partly: "partly",
  partial: "partly",
  wrong: "wrong",
  incorrect: "wrong",
  false: "wrong",
  no: "wrong",
  abstained: "abstained",
};

/** One line of a labels file: a question, its gold answer, an answer, and a person's label. */
export const labelledSchema = z.object({
  question: z.string().min(1),
  gold: z.string(),
  answer: z.string(),
  label: z
    .union([z.boolean(), z.string(), z.number()])
    .transform((label) => {
      const word = String(label).trim().toLowerCase();
      return LABELS[word === "1" ? "true" : word === "0" ? "false" : word];
    })
    .refine((label) => label !== undefined, "label must be correct, partly, wrong, abstained, true or false")
    .transform((label) => label as Label),
});

export type Labelled = z.output<typeof labelledSchema>;

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
