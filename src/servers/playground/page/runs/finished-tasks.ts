import { type Child, h, untrustedText } from "../../../../reports/page/shared/dom.js";
import { costText, scoreText } from "../../../../reports/page/shared/format.js";
import { count, duration } from "../../../../reports/text/format-number.js";
import { idLink } from "../tables.js";
import { endingText } from "../task-ending-text.js";
import { type RunPanel, tableSection } from "./run-panel.js";
import type { FinishedTaskJson } from "./run-progress-json.js";
import { taskName } from "./task-text.js";

/** The tasks that failed, newest first. */
export function failedTasks(): RunPanel {
  const { element, show } = tableSection("Failed", ["Task", "Ending", "Why", "Question", "At (UTC)"]);
  return {
    element,
    show({ failures, failedTasks: failed }) {
      const line = failures.length < failed ? `The last ${failures.length} of ${count(failed)}.` : "";
      show(failures, line, failedCells);
    },
  };
}

/** The tasks that finished last. Where the run is over, the list of all results says it. */
export function newestTasks(): RunPanel {
  const { element, show } = tableSection("Finished last", ["Task", "Score", "Ending", "Took", "Cost", "Question"]);
  return {
    element,
    show({ newest, status }) {
      show(status === "running" ? newest : [], "", newestCells);
    },
  };
}

function failedCells(task: FinishedTaskJson): Child[] {
  return [
    traceLink(task),
    endingText(task.ending),
    untrustedText(task.error ?? "", "clip", "span"),
    untrustedText(task.question, "clip", "span"),
    task.endedAt.slice(11, 19),
  ];
}

function newestCells(task: FinishedTaskJson): Child[] {
  return [
    traceLink(task),
    scoreText(task.score),
    endingText(task.ending),
    h("span", { class: "clip" }, timeText(task)),
    costText(task.costUsd),
    untrustedText(task.question, "clip", "span"),
  ];
}

function traceLink(task: FinishedTaskJson): HTMLElement {
  return idLink("trace", task.traceId, taskName(task));
}

/** With the time that it waited, and how many calls were made again, where that is worth a word. */
function timeText({ durationMs, waitedMs, retries }: FinishedTaskJson): string {
  const waited = waitedMs === null || waitedMs < 100 ? "" : `waited ${duration(waitedMs)}`;
  const again = retries === 0 ? "" : `${count(retries)} ${retries === 1 ? "call" : "calls"} made again`;
  const notes = [waited, again].filter((text) => text !== "").join(", ");
  return notes === "" ? duration(durationMs) : `${duration(durationMs)} (${notes})`;
}
