// Loads questions for a program, selected like those of `art-e run`.
import { definedProperties } from "../platform/optional-values.js";
import { contextOf } from "./options/context.js";
import type { LibraryOptions } from "./options.js";
import type { Question, QuestionSelection } from "./published-types.js";

/** The flags of `art-e run` that select questions. `db` is accepted like in all functions, but not read. */
export interface LoadTasksOptions extends LibraryOptions, QuestionSelection {}

/** Loads and selects questions. Throws an `ArtEError` for an unreadable file or if no question matches. */
export async function loadTasks(options: LoadTasksOptions = {}): Promise<Question[]> {
  const context = contextOf(options);
  const { loadSelection, refuseContradictions } = await import("../questions/dataset.js");
  const { rememberOrigin } = await import("./benchmark/task-list.js");
  const { ownOptions, parseOptions } = await import("./options/parse-options.js");
  const { questionSchema } = await import("../runs/run-flags.js");
  const selected = definedProperties(ownOptions(options));
  const selection = parseOptions({ limit: 0, ...selected }, questionSchema).parsed;
  refuseContradictions(selection);
  const { set, questions } = await loadSelection(selection, context);
  const tasks = questions.map((question) => ({ ...question })) as Question[];
  rememberOrigin(tasks, set);
  return tasks;
}
