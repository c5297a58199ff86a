// Questions as a program passes them: checked, and with the dataset they were loaded from.
import { NEVER } from "../../platform/deadline.js";
import { sha256Of } from "../../platform/sha256.js";
import { checkQuestions, type SelectedQuestions } from "../../questions/dataset.js";
import type { TaskSet } from "../../tasks/question.js";
import type { Question } from "../published-types.js";

/** The dataset of each loaded question. */
const ORIGINS = new WeakMap<Question, TaskSet>();

/**
 * Remembers the dataset of loaded questions, so that runs over them can be compared with runs of the command line. The
 * questions are frozen, because a changed question no longer belongs to the dataset.
 */
export function rememberOrigin(questions: readonly Question[], set: TaskSet): void {
  for (const question of questions) ORIGINS.set(Object.freeze(question), set);
}

/** Checks the questions of a program. Throws a UserError that names the first bad one. */
export async function checkedQuestions(tasks: readonly Question[], signal = NEVER): Promise<SelectedQuestions> {
  const { split, questions } = await checkQuestions(tasks, signal);
  const [origin, ...others] = new Set(tasks.map((task) => ORIGINS.get(task)));
  const set =
    origin !== undefined && others.length === 0
      ? origin
      : { source: "tasks of a program", revision: null, sha256: sha256Of(JSON.stringify(questions)), split };
  return { set, questions };
}
