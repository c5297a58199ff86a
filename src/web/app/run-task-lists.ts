// The running and failed tasks of a run, updated with every state.
import { type Hold, secondsText, waitsUntil } from "../../reports/hold-text.js";
import { count, counted, duration } from "../../text/format.js";
import type { RunProcessState, RunProgress } from "../../traces/progress.js";
import { type Child, h, setText } from "../dom.js";
import { clipped, liveTable, numeric } from "./lists.js";

/** A part of a run's page that is updated with every state. */
export interface RunPanel {
  readonly element: HTMLElement;
  /** `isOpen` is true while updates still arrive. `hold` says why the run does not go forward, or is null. */
  show(progress: RunProgress, isOpen: boolean, hold: Hold | null): void;
}

/** Running tasks and their activity, which only the run's own process knows. */
export function tasksUnderWay(): RunPanel {
  const elsewhere = elsewhereNotice();
  const tasks = tableSection("Running", ["Task", numeric("For"), "Activity", numeric("Since")], true);
  const waits = ["At (UTC)", "Task", numeric("Attempt"), numeric("Waited"), "Reason"];
  const retries = tableSection("Recent retries", waits);
  const known = h("div", tasks.element, retries.element);
  return {
    element: h("div", elsewhere, known),
    show({ status, process }: RunProgress, isOpen) {
      const isRunning = status === "running" && isOpen;
      elsewhere.hidden = !isRunning || process !== null;
      known.hidden = !isRunning || process === null;
      if (process === null) return;
      const rows = process.underWay.map((task) => ({
        name: taskName(task),
        started: age(task.startedAt),
        activity: activityText(task, process),
        since: age(task.since),
      }));
      tasks.show(rows, flowText(process), ({ name, started, activity, since }) => [
        name,
        started,
        clipped(activity),
        since,
      ]);
      retries.show(process.retries, "", retryCells);
    },
  };
}

function elsewhereNotice(): HTMLElement {
  return h(
    "p.notice",
    { hidden: true },
    "Another process executes this run, so this page shows only its saved results. To see running tasks, waiting calls and retries, start a run with ",
    h("code", "art-e run --watch"),
    ", which has its own page.",
  );
}

function retryCells(retry: RunProcessState["retries"][number]) {
  const { at, attempt, waitedMs, reason } = retry;
  return [at.slice(11, 19), taskName(retry), attempt, duration(waitedMs), clipped(reason)];
}

function activityText(task: RunProcessState["underWay"][number], { limiter, workers }: RunProcessState): string {
  const { activity } = task;
  switch (activity?.type) {
    case undefined:
      return workers === null ? "being prepared" : "with the workers";
    case "queued":
      return `waiting for ${WAITS_FOR[limiter?.why ?? "concurrency"]}`;
    case "calling":
      return "waiting for a reply";
    case "tool":
      return `calling ${activity.name}`;
    case "judging":
      return "being judged";
    case "retry": {
      const { attempt, reason } = activity.retry;
      const now = Date.now();
      return `attempt ${attempt + 1} in ${secondsText((waitsUntil(task, now) ?? now) - now)}: ${reason}`;
    }
  }
}

function flowText(process: RunProcessState): string {
  const { underWay, underWayCount } = process;
  const shown =
    underWay.length < underWayCount ? `The first ${underWay.length} of ${counted(underWayCount, "task")}.` : "";
  return [limiterText(process), workersText(process), shown].filter((text) => text !== "").join(" ");
}

function limiterText({ limiter }: RunProcessState): string {
  if (limiter === null) return "";
  const { running, limit, waiting, why, refused } = limiter;
  const wait = waiting === 0 ? "" : `, ${count(waiting)} waiting for ${WAITS_FOR[why ?? "concurrency"]}`;
  const refusals =
    refused === 0 ? "" : ` The server rejected ${counted(refused, "call")} because of a rate limit or overload.`;
  return `${count(running)} of at most ${count(Math.floor(limit))} calls running${wait}.${refusals}`;
}

function workersText({ workers }: RunProcessState): string {
  if (workers === null) return "";
  const names = workers.workers.map(({ name, perSecond }) => `${name} (${perSecond.toFixed(1)}/s)`).join(", ");
  const wait = workers.waitingFor === null ? "" : `, waiting for ${WAITS_FOR[workers.waitingFor]}`;
  return `${names === "" ? "No workers" : `Workers: ${names}`}; ${counted(workers.active, "task")} running${wait}.`;
}

const WAITS_FOR: Readonly<Record<NonNullable<NonNullable<RunProcessState["limiter"]>["why"]>, string>> = {
  concurrency: "a slot",
  rate: "the request rate",
  tokens: "the token rate",
  server: "the pause requested by the server",
};

/** Formats an age in whole seconds. */
function age(since: string): string {
  return secondsText(1_000 * Math.floor((Date.now() - Date.parse(since)) / 1_000));
}

function taskName({ taskId, epoch }: { readonly taskId: number | string; readonly epoch: number }): string {
  return epoch === 1 ? String(taskId) : `${taskId} (epoch ${epoch})`;
}

/**
 * A heading, a line and a table, hidden if there is nothing to list. A steady table keeps its height, whatever it
 * lists, so that the page below does not move.
 */
export function tableSection(title: string, columns: Parameters<typeof liveTable>[1], isSteady = false) {
  const hint = h("p.hint");
  const { element, setRows } = liveTable(title, columns);
  element.classList.toggle("steady", isSteady);
  const section = h("section", { hidden: true }, h("h3", title), hint, element);
  let shown = "";
  return {
    element: section,
    /** Rebuilds the rows only if `items` have changed. */
    show<T>(items: readonly T[], line: string, cells: (item: T) => readonly Child[]): void {
      setText(hint, line);
      element.hidden = items.length === 0 && !isSteady;
      section.hidden = items.length === 0 && line === "";
      const key = JSON.stringify(items);
      if (key === shown) return;
      shown = key;
      setRows(items.map(cells));
    },
  };
}
