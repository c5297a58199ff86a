// Selects the tasks of a suite by id, tool, tag and other flags.
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { type COUNTERPARTS, pairTasks, type SuiteTask } from "../../tasks/suite-task.js";
import { counted } from "../../text/format.js";
import { type IndexedTask, readIndexFile, type SuiteFolder } from "../suite-folder.js";
import { findObstacle, type TaskSources } from "../task-needs.js";

/** The user's selection of suite tasks. Omitted options select all. */
export interface SuiteSelectionOptions {
  /** Ids, or prefixes of ids. */
  readonly task?: readonly string[] | undefined;
  readonly tool?: string | undefined;
  /** Tags. A task must have all of them. */
  readonly tag?: readonly string[] | undefined;
  /** Path of an index file. */
  readonly index?: string | undefined;
  /** `both` adds the counterparts of selected tasks. `abstract` and `verbose` select the tasks with that tag. */
  readonly counterparts?: (typeof COUNTERPARTS)[number] | undefined;
  /** Whether to select only tasks that can run on this machine. */
  readonly runnable?: boolean | undefined;
}

/** Returns the selected tasks, in the order of the suite or of the index file. */
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

/** Returns the selected tasks, whether they can run on this machine or not. */
export function selectTasks(
  tasks: readonly SuiteTask[],
  { task: ids, tool, tag: tags = [], index, counterparts }: SuiteSelectionOptions,
  suite: SuiteFolder,
): SuiteTask[] {
  const suiteTags = tasks.flatMap((task) => task.tags);
  for (const tag of tags) requireKnown("tag", tag, suiteTags);
  if (tool !== undefined)
    requireKnown(
      "tool",
      tool,
      tasks.map((task) => task.tool),
    );
  const requestedIds = ids === undefined ? null : new Set(ids.map((id) => findTask(tasks, id).id));
  const candidates = index === undefined ? tasks : inIndex(tasks, readIndexFile(index, suite));
  const selected = candidates.filter(
    (task) =>
      (requestedIds === null || requestedIds.has(task.id)) &&
      (tool === undefined || task.tool === tool) &&
      tags.every((tag) => task.tags.includes(tag)),
  );
  if (counterparts === undefined) return selected;
  if (counterparts !== "both") return selected.filter((task) => task.tags.includes(counterparts));
  const pairs = pairTasks(tasks);
  const taskIds = new Set(selected.flatMap(({ id }) => (pairs.has(id) ? [id, pairs.get(id)] : [])));
  return tasks.filter(({ id }) => taskIds.has(id));
}

/** Throws a UserError if no task of the suite has the tag or tool, because it is probably misspelled. */
function requireKnown(what: "tag" | "tool", name: string, existing: readonly string[]): void {
  if (existing.includes(name)) return;
  const names = [...new Set(existing)].sort().join(", ");
  throw new UserError(
    `suite_${what}_unknown`,
    `--${what}: Unknown ${what} "${name}". ${names === "" ? `No task of the suite has a ${what}` : `Available: ${names}`}.`,
    `Run ${commandLine`art-e suite list DIR`} to list the suite's tasks.`,
  );
}

/** Returns the task with an id or a prefix of one. */
export function findTask<T extends { readonly id: string }>(tasks: readonly T[], id: string): T {
  const exact = tasks.find((task) => task.id === id);
  if (exact !== undefined) return exact;
  const [match, second] = tasks.filter((task) => task.id.startsWith(id));
  if (match !== undefined && second === undefined) return match;
  throw match === undefined
    ? new UserError(
        "task_unknown",
        `Unknown task "${id}".`,
        `Run ${commandLine`art-e suite list DIR`} to list the suite's tasks.`,
      )
    : new UserError(
        "task_ambiguous",
        `More than one task id starts with ${id}: ${match.id}, ${second?.id}.`,
        "Pass a longer prefix.",
      );
}

function inIndex(tasks: readonly SuiteTask[], index: readonly IndexedTask[]): SuiteTask[] {
  const missing = index.filter(({ tool, id }) => !tasks.some((task) => task.id === id && task.tool === tool));
  const [first] = missing;
  if (first !== undefined) {
    throw new UserError(
      "index_task_unknown",
      `The index file lists ${counted(missing.length, "task")} missing from the suite, such as ${first.tool}/${first.id}.`,
      "Correct the index file, or add the tasks.",
    );
  }
  return index.flatMap(({ tool, id }) => tasks.filter((task) => task.id === id && task.tool === tool));
}
