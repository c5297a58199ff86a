// The state of a report in the URL fragment.
import type { ReportHead } from "../../reports/report-data.js";
import { SLICES } from "../../traces/task-slices.js";
import type { Task } from "./load.js";

/** Filters of the task table, which are parameters in the URL fragment. */
const FILTERS = ["run", "compared", "outcome", "state", "stage", "ending", "eval", ...SLICES] as const;

export type FilterName = (typeof FILTERS)[number];

/** The state of the page. It is stored in the URL fragment, so that links and the Back button work. */
export interface ViewState {
  readonly search: string;
  /** Column of the task table, after `-` if descending. Empty for the default order. */
  readonly sort: string;
  readonly filters: Readonly<Partial<Record<FilterName, string>>>;
  /** `RUN/TASK/EPOCH`. Run and epoch are optional. */
  readonly task: string | null;
}

export const EMPTY_VIEW: ViewState = { search: "", sort: "", filters: {}, task: null };

/** Section of the served pages with the report, such as `runs/ID`. Empty in the report's own file. */
let place = "";

/** Puts all links of the report under a section of the served pages. */
export function setPlace(section: string): void {
  place = section;
}

/** Whether the URL fragment belongs to this report. */
export function isOfThisPlace(hash: string): boolean {
  return place === "" || hash.slice(1).split("?", 1)[0] === place;
}

export function readView(hash: string): ViewState {
  const words = new URLSearchParams(place === "" ? hash.slice(1) : hash.slice(place.length + 2));
  const filters = FILTERS.flatMap((name) => {
    const value = words.get(name);
    return value === null || value === "" ? [] : [[name, value] as const];
  });
  const [search = "", sort = ""] = ["search", "sort"].map((name) => words.get(name) ?? "");
  return { search, sort, filters: Object.fromEntries(filters), task: words.get("task") };
}

export function writeView({ search, sort, filters, task }: ViewState): string {
  const words = new URLSearchParams();
  if (search !== "") words.set("search", search);
  if (sort !== "") words.set("sort", sort);
  for (const { name, value } of activeFilters(filters)) words.set(name, value);
  if (task !== null) words.set("task", task);
  const text = words.toString().replaceAll("%2F", "/").replaceAll("%40", "@");
  return place === "" || text === "" ? `#${place}${text}` : `#${place}?${text}`;
}

export function activeFilters(filters: ViewState["filters"]): { readonly name: FilterName; readonly value: string }[] {
  return FILTERS.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [{ name, value }];
  });
}

/** Returns a link to the tasks that these filters select. */
export function filterLink(filters: ViewState["filters"]): string {
  return writeView({ ...EMPTY_VIEW, filters });
}

export function taskLink(task: Task, head: ReportHead): string {
  return writeView({ ...EMPTY_VIEW, task: taskName(task, head) });
}

export function taskName(task: Task, { runs }: ReportHead): string {
  return `${runs[task.run]?.runId ?? task.run}/${task.taskId}/${task.epoch}`;
}

/** Finds a task by its name. The default run and epoch are the first ones. Ids can contain slashes. */
export function findTask(name: string, tasks: readonly Task[], { runs }: ReportHead): Task | null {
  const parts = name.split("/");
  const named = parts.length > 1 ? runs.findIndex(({ runId }) => runId === parts[0]) : -1;
  const rest = named >= 0 ? parts.slice(1) : parts;
  const hasEpoch = rest.length > 1 && /^\d+$/.test(rest.at(-1) ?? "");
  const taskId = (hasEpoch ? rest.slice(0, -1) : rest).join("/");
  const epoch = hasEpoch ? Number(rest.at(-1)) : 1;
  return (
    tasks.find((task) => task.run === Math.max(0, named) && String(task.taskId) === taskId && task.epoch === epoch) ??
    null
  );
}
