import type { ReportHead } from "../../reports/report-data.js";
import { SLICES } from "../../traces/task-slices.js";
import { type Child, h } from "../dom.js";
import type { Task } from "./load.js";

/** A part of the page under a heading, which links can name. */
export function section(title: string, note: string | null, ...children: readonly Child[]): HTMLElement {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return h(
    "section",
    { "aria-labelledby": id },
    h("h2", { id }, title),
    note === null ? null : h("p", { class: "lead" }, note),
    ...children,
  );
}

/** Filters of the task table; each is a parameter of the URL's fragment. */
export const FILTERS = ["run", "compared", "outcome", "state", "stage", "ending", "eval", ...SLICES] as const;

export type FilterName = (typeof FILTERS)[number];

/** What the page shows. It is kept in the URL's fragment, so that links and the Back button work. */
export interface ViewState {
  readonly search: string;
  readonly filters: Readonly<Partial<Record<FilterName, string>>>;
  /** `RUN/TASK/EPOCH`; the run and the epoch may be left out. */
  readonly task: string | null;
}

export const EMPTY_VIEW: ViewState = { search: "", filters: {}, task: null };

export function readView(hash: string): ViewState {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const filters = FILTERS.flatMap((name) => {
    const value = words.get(name);
    return value === null || value === "" ? [] : [[name, value] as const];
  });
  return { search: words.get("search") ?? "", filters: Object.fromEntries(filters), task: words.get("task") };
}

export function writeView({ search, filters, task }: ViewState): string {
  const words = new URLSearchParams();
  if (search !== "") words.set("search", search);
  for (const { name, value } of activeFilters(filters)) words.set(name, value);
  if (task !== null) words.set("task", task);
  return `#${words.toString().replaceAll("%2F", "/").replaceAll("%40", "@")}`;
}

export function activeFilters(filters: ViewState["filters"]): { readonly name: FilterName; readonly value: string }[] {
  return FILTERS.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [{ name, value }];
  });
}

/** A link to the tasks that these filters select. */
export function filterLink(filters: ViewState["filters"]): string {
  return writeView({ ...EMPTY_VIEW, filters });
}

export function taskLink(task: Task, head: ReportHead): string {
  return writeView({ ...EMPTY_VIEW, task: taskName(task, head) });
}

export function taskName(task: Task, { runs }: ReportHead): string {
  return `${runs[task.run]?.runId ?? task.run}/${task.taskId}/${task.epoch}`;
}

/** The task of a name; without a run in it, the first run's; without an epoch, the first. Ids may hold slashes. */
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
