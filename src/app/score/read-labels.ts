import { readFileSync } from "node:fs";
import { z } from "zod";
import { UserError } from "../../domain/errors.js";
import type { Label } from "../../domain/scores/judge-calibration.js";

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
const labelledSchema = z.object({
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

const HINT =
  'A line is {"question": "...", "gold": "...", "answer": "...", "label": "correct"}; label: correct, partly, wrong, abstained, true or false.';

/** Reads labelled answers, one JSON object a line. Throws a UserError that names the unusable line. */
export function readLabels(path: string): Labelled[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new UserError("labels_unreadable", `${path} cannot be read: ${(cause as Error).message}`, HINT, 2, { cause });
  }
  const items = text
    .split("\n")
    .flatMap((line, i) => (line.trim() === "" ? [] : [readLine(line, `${path}, line ${i + 1}`)]));
  if (items.length === 0) throw new UserError("labels_empty", `${path} holds no labels.`, HINT);
  return items;
}

function readLine(line: string, where: string): Labelled {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new UserError("labels_invalid", `${where} is not JSON.`, HINT);
  }
  const { data, error } = labelledSchema.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new UserError(
    "labels_invalid",
    `${where}: ${issue?.path.join(".") || "it"}: ${issue?.message ?? "cannot be used"}.`,
    HINT,
  );
}
