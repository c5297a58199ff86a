import { extname } from "node:path";
import { UserError } from "../../../domain/errors.js";
import type { Question } from "../../../domain/tasks/question.js";
import type { QuestionProvenance } from "../../../domain/tasks/question-provenance.js";
import { writeFileAtomically } from "../../../platform/atomic-file.js";

export interface MadeQuestion {
  readonly question: Question;
  readonly provenance: QuestionProvenance;
}

/** `my.jsonl` -> `my.provenance.jsonl` */
export function provenancePath(dataset: string): string {
  return `${dataset.slice(0, dataset.length - extname(dataset).length)}.provenance.jsonl`;
}

/** The provenance first: a dataset is never there without it. */
export async function writeQuestions(path: string, made: readonly MadeQuestion[]): Promise<void> {
  const lines = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`);
  await writeFileAtomically(provenancePath(path), lines(made.map(({ provenance }) => provenance)));
  await writeFileAtomically(path, lines(made.map(({ question }) => question)));
}

/** Refuses a dataset of another form than is written here. */
export function requireJsonLines(flag: string, path: string): void {
  if (extname(path).toLowerCase() === ".jsonl") return;
  throw new UserError(
    "output_format",
    `${flag}: ${path} is not a .jsonl file.`,
    "Questions are written as JSON lines.",
  );
}
