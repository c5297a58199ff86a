import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { UntrustedText } from "../../models/delimit-untrusted.js";
import { seededRandom } from "../../statistics/seeded-random.js";
import { traceDigest } from "../trace-digest.js";

/** A labelled trace of the training half; no other comes into a prompt. */
export interface TrainingExample {
  readonly trace: EvaluatedTrace;
  readonly label: "good" | "bad";
  /** Why, in the words of who labelled it. */
  readonly note: string | null;
}

/** Of each kind, in a prompt. */
export const SHOWN_EXAMPLES = 10;
/** Together about 8,000 tokens. */
const MAX_CHARS = 1_400;

/** Some good and some bad examples, drawn by the seed. */
export function drawExamples(training: readonly TrainingExample[], ofEach: number, seed: number): TrainingExample[] {
  const random = seededRandom(seed);
  return (["good", "bad"] as const).flatMap((label) => {
    const left = training.filter((example) => example.label === label);
    const drawn: TrainingExample[] = [];
    while (drawn.length < ofEach && left.length > 0) drawn.push(...left.splice(random(left.length), 1));
    return drawn;
  });
}

/** `remark`: what else is said of it, such as what an eval made of it. */
export function exampleText({ trace, label, note }: TrainingExample, remark?: string): UntrustedText {
  const lines = [`Label: ${label}${note === null ? "" : ` (${note.slice(0, 300)})`}`, ...(remark ? [remark] : [])];
  return { name: "trace", text: [...lines, traceDigest(trace, MAX_CHARS)].join("\n") };
}
