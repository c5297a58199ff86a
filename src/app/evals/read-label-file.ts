import { readFileSync } from "node:fs";
import { z } from "zod";
import { UserError } from "../../domain/errors.js";
import { EVAL_LABELS } from "../../domain/evals/label.js";

/** One line of a labels file. */
const lineSchema = z.object({
  /** A trace's id, or RUN/TASK. */
  trace: z.string().min(1),
  label: z.enum(EVAL_LABELS, `expected ${EVAL_LABELS.join(", ")}`),
  note: z.string().max(4_000).nullish(),
});

export type LabelLine = z.output<typeof lineSchema> & { readonly line: number };

const HINT = 'A line is {"trace": "latest/12", "label": "bad", "note": "the price is of another year"}.';

/** Reads labels of traces, one JSON object a line. Throws a UserError that names the unusable line. */
export function readLabelFile(path: string): LabelLine[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const message = `${path} cannot be read: ${(cause as Error).message}.`;
    throw new UserError("labels_unreadable", message, "--from is feedback, judge, scores, or a file of labels.", 2, {
      cause,
    });
  }
  const lines = text
    .split("\n")
    .flatMap((content, i) =>
      content.trim() === "" ? [] : [{ ...parseLine(content, `${path}, line ${i + 1}`), line: i + 1 }],
    );
  if (lines.length === 0) throw new UserError("labels_empty", `${path} holds no labels.`, HINT);
  return lines;
}

function parseLine(content: string, where: string): z.output<typeof lineSchema> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new UserError("labels_invalid", `${where} is not JSON.`, HINT);
  }
  const { data, error } = lineSchema.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new UserError(
    "labels_invalid",
    `${where}: ${issue?.path.join(".") || "the line"}: ${issue?.message ?? "cannot be used"}.`,
    HINT,
  );
}
