// Files of tasks that are made from mail by rules alone. They are JSON Lines, because a task has nested fields.
import type { AppSettings } from "../../platform/app-context.js";
import { UserError } from "../../platform/errors.js";
import { writeFileAtomically } from "../../platform/files.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import type { Question } from "../../tasks/question.js";
import { checkOutputs } from "../../trace-formats/output-files.js";
import { splitOf } from "../make-questions.js";

export interface MakeTasksOptions {
  readonly inbox: readonly string[];
  readonly number: number;
  readonly output: string;
  readonly train: number;
  readonly seed: number;
  readonly overwrite: boolean;
}

/** Throws a UserError if the tasks cannot be written. */
export function checkTaskOutput({ output, overwrite }: MakeTasksOptions, { db }: AppSettings): void {
  if (!output.endsWith(".jsonl")) {
    throw new UserError(
      "output_format_unknown",
      `--output: expected a .jsonl file for tasks of this kind, got ${output}.`,
      "Pass a file such as tasks.jsonl.",
    );
  }
  checkOutputs([{ flag: "--output", path: output, kind: "questions" }], [], { db, overwrite });
}

/** Writes tasks with consecutive ids. All tasks about a mailbox are in the same split. */
export async function writeTasks(
  tasks: readonly Omit<Question, "id">[],
  inboxes: readonly string[],
  options: MakeTasksOptions,
): Promise<void> {
  const split = splitOf(inboxes, options);
  const rows = tasks.map((task, i) => ({ id: i + 1, ...task, split: split(task.inbox_address) }));
  await writeFileAtomically(
    options.output,
    rows.map((row) => `${toWellFormedJson(row)}\n`),
  );
}
