import type { Question } from "../../../domain/tasks/question.js";
import { sha256Of } from "../../../platform/download/download-cache.js";
import { readQuestionFile, readRows } from "../../../questions/local-file.js";
import { checkRows, checkUniqueIds } from "../../../questions/validate-questions.js";

/** A file of questions to be reviewed, of any format, both splits. */
export interface ReviewedFile {
  readonly path: string;
  readonly sha256: string;
  readonly questions: readonly Question[];
  /** The line of each question in a file of JSON lines; null for other formats. */
  readonly lines: readonly string[] | null;
}

/** Throws a UserError that names the file, and the bad row if any. */
export async function openDataset(path: string): Promise<ReviewedFile> {
  const bytes = await readQuestionFile(path);
  const { rows, lines } = await readRows(path, bytes);
  const questions = checkRows(rows, path);
  checkUniqueIds(questions, path);
  return { path, sha256: sha256Of(bytes), questions, lines };
}

/** Whether the file is as it was when it was opened. */
export async function isUnchanged({ path, sha256 }: ReviewedFile): Promise<boolean> {
  return sha256Of(await readQuestionFile(path)) === sha256;
}
