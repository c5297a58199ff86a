import { UserError } from "../platform/errors.js";
import { type COUNTERPARTS, pairTasks, type SuiteTask } from "../tasks/suite-task.js";
import { type IndexedTask, readIndexFile, type SuiteFolder } from "./suite-folder.js";
import { findObstacle, type TaskSources } from "./task-needs.js";

/** Which tasks of a suite a user asks for; what is left out selects all. */
export interface SuiteSelectionOptions {
  /** Ids, or their beginnings. */
  readonly task?: readonly string[] | undefined;
  readonly tool?: string | undefined;
  /** All of them. */
  readonly tag?: readonly string[] | undefined;
  /** Path of an index file. */
  readonly index?: string | undefined;
  /** both: whole pairs, the counterparts of selected tasks added; abstract, verbose: those with that tag. */
  readonly counterparts?: (typeof COUNTERPARTS)[number] | undefined;
  /** Only what can be run here. */
  readonly runnable?: boolean | undefined;
}

/** The selected tasks, in the order of the suite or of the index file. */
export async function selectSuiteTasks(
  tasks: readonly SuiteTask[],
  options: SuiteSelectionOptions,
  sources: TaskSources,
): Promise<SuiteTask[]> {
  const selected = selectTasks(tasks, options, sources.suite);
  if (!options.runnable) return selected;
  const obstacles = await Promise.all(selected.map((one) => findObstacle(one, sources)));
  return selected.filter((_, i) => obstacles[i] === null);
}

/** The selected tasks, whether they can be run here or not. */
export function selectTasks(
  tasks: readonly SuiteTask[],
  { task: ids, tool, tag: tags = [], index, counterparts }: SuiteSelectionOptions,
  suite: SuiteFolder,
): SuiteTask[] {
  const named = ids === undefined ? null : new Set(ids.map((id) => findTask(tasks, id).id));
  const candidates = index === undefined ? tasks : inIndex(tasks, readIndexFile(index, suite));
  const selected = candidates.filter(
    (task) =>
      (named === null || named.has(task.id)) &&
      (tool === undefined || task.tool === tool) &&
      tags.every((tag) => task.tags.includes(tag)),
  );
  if (counterparts === undefined) return selected;
  if (counterparts !== "both") return selected.filter((task) => task.tags.includes(counterparts));
  const pairs = pairTasks(tasks);
  const wanted = new Set(selected.flatMap(({ id }) => (pairs.has(id) ? [id, pairs.get(id)] : [])));
  return tasks.filter(({ id }) => wanted.has(id));
}

/** The task of an id, or of the beginning of one. */
export function findTask<T extends { readonly id: string }>(tasks: readonly T[], id: string): T {
  const exact = tasks.find((task) => task.id === id);
  if (exact !== undefined) return exact;
  const [found, second] = tasks.filter((task) => task.id.startsWith(id));
  if (found !== undefined && second === undefined) return found;
  throw found === undefined
    ? new UserError("task_missing", `The suite has no task ${id}.`, "List them: art-e suite list DIR")
    : new UserError(
        "task_ambiguous",
        `Several tasks begin with ${id}: ${found.id}, ${second?.id}.`,
        "Give more of it.",
      );
}

function inIndex(tasks: readonly SuiteTask[], index: readonly IndexedTask[]): SuiteTask[] {
  const missing = index.filter(({ tool, id }) => !tasks.some((task) => task.id === id && task.tool === tool));
  const [first] = missing;
  if (first !== undefined) {
    throw new UserError(
      "index_unknown_task",
      `The index file lists ${missing.length} tasks that the suite has not, such as ${first.tool}/${first.id}.`,
      "Correct the index file, or add the tasks.",
    );
  }
  return index.flatMap(({ tool, id }) => tasks.filter((task) => task.id === id && task.tool === tool));
}
