import { h, replaceChildren } from "../../../../reports/page/shared/dom.js";
import { minuteText } from "../../../../reports/page/shared/format.js";
import { isRunPage } from "../page-sections.js";
import { errorNotice, idLink } from "../tables.js";
import { failedTasks, newestTasks } from "./finished-tasks.js";
import { type Connection, followRun } from "./follow-run.js";
import { tasksUnderWay } from "./in-flight-tasks.js";
import { progressFigures } from "./progress-figures.js";
import { reportButton } from "./report-button.js";
import { resultList } from "./result-list.js";
import type { RunProgressJson } from "./run-progress-json.js";
import { scoreTable } from "./score-table.js";

/** A run as it goes on, or as it ended. Resolves when its first state is shown. */
export async function runView(page: HTMLElement, id: string, signal: AbortSignal): Promise<void> {
  const title = h("h2", {}, "Run");
  const status = h("p", { class: "run-status", role: "status" });
  const facts = h("p", { class: "hint" });
  const parts = [progressFigures(), failedTasks(), tasksUnderWay(), newestTasks(), scoreTable()];
  let connection: Connection = "open";
  let progress: RunProgressJson | null = null;
  const show = () => {
    if (progress === null) return;
    title.textContent = progress.name ?? "Run";
    setText(status, statusText(progress, connection));
    status.className = `run-status ${connection === "open" ? progress.status : connection}`;
    replaceChildren(facts, factsText(progress));
    for (const part of parts) part.show(progress, connection === "open");
  };
  await new Promise<void>((resolve, reject) => {
    const listener = {
      onProgress(next: RunProgressJson) {
        progress = next;
        show();
        resolve();
      },
      onConnection(next: Connection) {
        if (next === connection) return;
        connection = next;
        show();
      },
    };
    followRun(id, listener, signal).catch((error: Error) => {
      if (progress === null) reject(error);
      else page.prepend(errorNotice(error.message));
    });
    signal.addEventListener("abort", () => resolve());
  });
  if (signal.aborted) return;
  // Ages of what is under way grow without news.
  const clock = setInterval(() => {
    if (progress?.status === "running" && connection === "open") show();
  }, 1_000);
  signal.addEventListener("abort", () => clearInterval(clock));
  page.append(
    title,
    h("p", { class: "hint mono" }, id),
    facts,
    status,
    ...parts.map(({ element }) => element),
    ...(isRunPage ? [] : [reportButton(id), " ", idLink("label", id, "Label its traces")]),
    resultList(id),
    h("p", {}, h("a", { href: `#traces?run_id=${encodeURIComponent(id)}` }, "All traces of this run")),
  );
}

function factsText({ agentId, model, dataset, split, startedAt }: RunProgressJson): string {
  return `${agentId} with ${model}, ${split} split of ${dataset}, started ${minuteText(startedAt)} UTC`;
}

function statusText({ status, process }: RunProgressJson, connection: Connection): string {
  switch (connection) {
    case "lost":
      return "The connection is lost. Trying again; what you see is the last state that came.";
    case "ended":
      return isRunPage
        ? `${STATUS[status]} Its page has ended with it: what you see is its last state. Its tasks can be opened with art-e serve.`
        : "The server has stopped. What you see is the last state that came.";
    case "open":
      return process?.stopping
        ? "Stopping: the tasks under way are finished, and no further one starts."
        : STATUS[status];
  }
}

const STATUS: Readonly<Record<RunProgressJson["status"], string>> = {
  running: "Running.",
  completed: "Completed.",
  interrupted: "Stopped before its last task. It can be resumed.",
};

/** A screen reader reads a text again that is set again. */
function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
