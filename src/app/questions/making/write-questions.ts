import { extname } from "node:path";
import { UserError } from "../../../domain/errors.js";
import type { Question } from "../../../domain/tasks/question.js";
import type { QuestionProvenance } from "../../../domain/tasks/question-provenance.js";
import { encodeTable, TABLE_FORMATS, type TableFormat } from "../../../exports/tables/encode-table.js";
import { questionsTable } from "../../../exports/tables/questions-table.js";
import { writeFileAtomically } from "../../../platform/atomic-file.js";
import { sidecarPath } from "../sidecar-path.js";

export interface MadeQuestion {
  readonly question: Question;
  readonly provenance: QuestionProvenance;
}

/** `my.parquet` -> `my.provenance.jsonl` */
export function provenancePath(dataset: string): string {
  return sidecarPath(dataset, ".provenance.jsonl");
}

/** The provenance first: a dataset is never there without it. */
export async function writeQuestions(path: string, format: TableFormat, made: readonly MadeQuestion[]): Promise<void> {
  await writeFileAtomically(
    provenancePath(path),
    made.map(({ provenance }) => `${JSON.stringify(provenance)}\n`),
  );
  const questions = made.map(({ question }) => question);
  await writeFileAtomically(path, await encodeTable(format, questionsTable(format), questions));
}

/** The format of a dataset to write, by its extension. Throws a UserError for any other. */
export function formatOfDataset(flag: string, path: string): TableFormat {
  const extension = extname(path).toLowerCase();
  const format = TABLE_FORMATS.find((one) => extension === `.${one}`);
  if (format !== undefined) return format;
  throw new UserError(
    "output_format",
    `${flag}: ${path} is not a .jsonl, .csv or .parquet file.`,
    "The extension is the format that the questions are written in.",
  );
}
