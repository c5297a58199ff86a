import type { PairOutcomes } from "../comparison/pair-outcomes.js";
import type { Task } from "../load-report.js";
import type { ReportHead } from "../report-data.js";
import { FILTERS, type FilterName, type ViewState } from "../route.js";

/** The values of a task for each filter: none where it is of the other kind, several where it has as many. */
export function filterValues(
  task: Task,
  name: Exclude<FilterName, "compared">,
  { runs }: ReportHead,
): readonly string[] {
  const { suite } = task;
  switch (name) {
    case "run":
      return [runs[task.run]?.runId ?? ""];
    case "outcome":
    case "ending":
      return [task[name]];
    case "stage":
    case "inbox":
    case "realism":
    case "sources":
    case "year":
      return suite === null ? [task[name]] : [];
    case "app":
      return suite?.apps ?? [];
    case "tag":
      return suite?.tags ?? [];
    default:
      return suite === null ? [] : [suite[name]];
  }
}

/** The tasks that contain every search word and match all filters. */
export function filterTasks(
  tasks: readonly Task[],
  { search, filters }: ViewState,
  head: ReportHead,
  outcomes: PairOutcomes,
): Task[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const asked = FILTERS.flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [{ name, value }];
  });
  return tasks.filter(
    (task) =>
      asked.every(({ name, value }) =>
        name === "compared" ? outcomes.matches(task, value) : filterValues(task, name, head).includes(value),
      ) && words.every((word) => task.words.includes(word)),
  );
}

export type SortKey = keyof typeof READ;

export interface Order {
  readonly key: SortKey;
  readonly down: boolean;
}

/** A stable sort; tasks without a value come last in both directions. */
export function sorted(tasks: readonly Task[], { key, down }: Order, score: number): Task[] {
  const read: (task: Task, score: number) => string | number | null = READ[key];
  const sign = down ? -1 : 1;
  return [...tasks].sort((a, b) => {
    const [x, y] = [read(a, score), read(b, score)];
    if (x === null || y === null) return Number(x === null) - Number(y === null) || byTask(a, b);
    const order = x < y ? -1 : x > y ? 1 : 0;
    return order * sign || byTask(a, b);
  });
}

function byTask(a: Task, b: Task): number {
  return compareIds(a, b) || a.epoch - b.epoch || a.run - b.run;
}

/** Numbers by value, texts by their letters. */
function compareIds(a: Task, b: Task): number {
  return String(a.taskId).localeCompare(String(b.taskId), "en", { numeric: true });
}

const STAGE_ORDER = { read: 0, found: 1, missed: 2, none: 3, failed: 4 } as const;

const READ = {
  task: (task) => task.taskId,
  question: (task) => task.question.toLowerCase(),
  inbox: (task) => task.inbox,
  score: (task, score) => task.scores[score] ?? null,
  stage: (task) => STAGE_ORDER[task.stage],
  ending: (task) => task.ending,
  turns: (task) => task.turns,
  ms: (task) => task.ms,
  costUsd: (task) => task.costUsd,
  run: (task) => task.run,
  tool: (task) => task.suite?.tool ?? null,
  state: (task) => task.suite?.state ?? null,
  toolCalls: (task) => task.suite?.toolCalls ?? null,
} satisfies Record<string, (task: Task, score: number) => string | number | null>;
