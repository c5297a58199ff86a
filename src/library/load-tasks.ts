import { definedProperties } from "../platform/optional-values.js";
import { contextOf } from "./options/context.js";
import type { LibraryOptions } from "./options.js";
import type { Question } from "./published-types.js";

/** Named and described like the flags of `art-e run`. */
export interface LoadTasksOptions extends Omit<LibraryOptions, "db"> {
  /** Path of a question file [default: the published dataset, which is downloaded once]. */
  readonly dataset?: string;
  /** [default: "test", or the only split of `dataset`] */
  readonly split?: "train" | "test";
  /** Maximum number of questions [default: 0, all]. */
  readonly limit?: number;
  readonly shuffle?: boolean;
  /** Seed of the shuffle [default: 1]. */
  readonly seed?: number;
  readonly ids?: readonly number[];
  /** Address of the mailbox that the questions are about. */
  readonly inbox?: string;
  /** 0 to 1. */
  readonly minRealism?: number;
  /** Maximum number of gold emails. */
  readonly maxSources?: number;
  /** Leaves out the questions that ART knows to be wrong. */
  readonly excludeKnownBad?: boolean;
  /** Loads the first 100 rows from the hub's JSON API. */
  readonly useJson?: boolean;
  /** Commit, branch or tag of the published dataset. */
  readonly revision?: string;
}

/** Loads and selects questions. Throws an `ArtEError` for an unreadable file or if no question matches. */
export async function loadTasks(options: LoadTasksOptions = {}): Promise<Question[]> {
  const { loadSelection, refuseContradictions } = await import("../questions/dataset.js");
  const { rememberOrigin } = await import("./benchmark/task-list.js");
  const { ownOptions, parseOptions } = await import("./options/parse-options.js");
  const { questionSchema } = await import("../runs/run-flags.js");
  const selected = definedProperties(ownOptions(options));
  const selection = parseOptions({ limit: 0, ...selected }, questionSchema).parsed;
  refuseContradictions(selection);
  const { set, questions } = await loadSelection(selection, contextOf(options));
  const tasks = questions.map((question) => ({ ...question })) as Question[];
  rememberOrigin(tasks, set);
  return tasks;
}
