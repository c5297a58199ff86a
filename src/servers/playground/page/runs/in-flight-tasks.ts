import { h, untrustedText } from "../../../../reports/page/shared/dom.js";
import { count, duration } from "../../../../reports/text/format-number.js";
import { type RunPanel, tableSection } from "./run-panel.js";
import type { ProcessStateJson, RunProgressJson, UnderWayJson, WaitsFor } from "./run-progress-json.js";
import { taskName } from "./task-text.js";

/** What goes on now and what it waits for, which only the process of the run knows. */
export function tasksUnderWay(): RunPanel {
  const elsewhere = elsewhereNotice();
  const tasks = tableSection("Under way", ["Task", "For", "What it does", "Since"]);
  const retries = tableSection("Calls made again lately", ["At (UTC)", "Task", "Attempt", "Then waited", "Why"]);
  const known = h("div", {}, tasks.element, retries.element);
  return {
    element: h("div", {}, elsewhere, known),
    show({ status, process }: RunProgressJson, isOpen) {
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
        untrustedText(activity, "clip", "span"),
        since,
      ]);
      retries.show(process.retries, "", retryCells);
    },
  };
}

function elsewhereNotice(): HTMLElement {
  return h(
    "p",
    { class: "notice", hidden: true },
    "Another process executes this run: here you see what it has saved. The calls under way, what they wait for and retries as they happen are known to that process alone, and a run that is started with ",
    h("code", {}, "art-e run --watch"),
    " shows them on a page of its own.",
  );
}

function retryCells(retry: ProcessStateJson["retries"][number]) {
  const { at, attempt, waitedMs, reason } = retry;
  return [at.slice(11, 19), taskName(retry), attempt, duration(waitedMs), untrustedText(reason, "clip", "span")];
}

function activityText({ activity }: UnderWayJson, { limiter, workers }: ProcessStateJson): string {
  switch (activity?.type) {
    case undefined:
      return workers === null ? "is being prepared" : "is with the workers";
    case "queued":
      return `waits for ${WAITS_FOR[limiter?.why ?? "concurrency"]}`;
    case "calling":
      return "waits for a reply";
    case "tool":
      return `uses ${activity.name}`;
    case "judging":
      return "is being judged";
    case "retry": {
      const { attempt, waitedMs, reason } = activity.retry;
      return `waits ${duration(waitedMs)} before attempt ${attempt + 1}: ${reason}`;
    }
  }
}

function flowText(process: ProcessStateJson): string {
  const { underWay, underWayCount } = process;
  const shown = underWay.length < underWayCount ? `The first ${underWay.length} of ${count(underWayCount)} tasks.` : "";
  return [limiterText(process), workersText(process), shown].filter((text) => text !== "").join(" ");
}

function limiterText({ limiter }: ProcessStateJson): string {
  if (limiter === null) return "";
  const { running, limit, waiting, why, refused } = limiter;
  const wait = waiting === 0 ? "" : `, ${count(waiting)} waiting for ${WAITS_FOR[why ?? "concurrency"]}`;
  const refusals = refused === 0 ? "" : ` The server has refused ${count(refused)} for their rate.`;
  return `${count(running)} of at most ${count(Math.floor(limit))} calls under way${wait}.${refusals}`;
}

function workersText({ workers }: ProcessStateJson): string {
  if (workers === null) return "";
  const names = workers.workers.map(({ name, perSecond }) => `${name} (${perSecond.toFixed(1)}/s)`).join(", ");
  const wait = workers.waitingFor === null ? "" : `, waiting for ${WAITS_FOR[workers.waitingFor]}`;
  return `${names === "" ? "No worker is there" : `Workers: ${names}`}; ${count(workers.active)} tasks under way${wait}.`;
}

const WAITS_FOR: Readonly<Record<WaitsFor, string>> = {
  concurrency: "a slot",
  rate: "the request rate",
  tokens: "the token rate",
  server: "the pause that the server asked for",
};

/** In whole seconds. */
function age(since: string): string {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(since)) / 1_000));
  return seconds < 60 ? `${seconds} s` : duration(1_000 * seconds);
}
