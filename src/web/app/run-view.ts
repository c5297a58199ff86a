import { compact } from "../../platform/optional-values.js";
import { datasetText, UNJUDGED } from "../../reports/wording.js";
import type { RunLineJson, RunPageJson } from "../../server/response-shapes.js";
import { count, duration, oneDecimal } from "../../text/format.js";
import type { RunProgress } from "../../traces/progress.js";
import {
  axisEnd,
  costText,
  h,
  intervalText,
  minuteText,
  replaceChildren,
  scoreAxis,
  scoreText,
  select,
  svg,
} from "../dom.js";
import { get, getEvents, isRunPage, post, RefusedRequest } from "./api.js";
import { clipped, errorNotice, type FilterField, filteredList, idLink, offsetPage, table, twoLines } from "./lists.js";
import { failedTasks, newestTasks, type RunPanel, resultList, tableSection, tasksUnderWay } from "./run-task-lists.js";
import { endingText } from "./trace.js";

/** Shows a running or finished run. Resolves when the first state is shown. */
export async function runView(page: HTMLElement, id: string, signal: AbortSignal): Promise<void> {
  const title = h("h2", {}, "Run");
  const status = h("p", { class: "run-status", role: "status" });
  const facts = h("p", { class: "hint" });
  const parts = [progressFigures(), episodeCourse(), failedTasks(), tasksUnderWay(), newestTasks(), scoreTable()];
  let connection: Connection = "open";
  let progress: RunProgress | null = null;
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
      onProgress(next: RunProgress) {
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
  // The ages of running tasks grow even without updates.
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
    ...(isRunPage ? [] : [reportButton(id)]),
    resultList(id, () => progress?.scores[0]?.scorer ?? null),
    h("p", {}, h("a", { href: `#traces?run_id=${encodeURIComponent(id)}` }, "All traces of this run")),
  );
}

function factsText({ agentId, model, dataset, split, startedAt }: RunProgress): string {
  return `${agentId} with ${model}, ${split} split of ${dataset}, started ${minuteText(startedAt)} UTC`;
}

function statusText({ status, process }: RunProgress, connection: Connection): string {
  switch (connection) {
    case "lost":
      return "Connection lost. Reconnecting. The page shows the last received state.";
    case "ended":
      return isRunPage
        ? `${STATUS[status]} Its server has stopped too, so the page shows the last state. To open its tasks, use art-e serve.`
        : "The server has stopped. The page shows the last received state.";
    case "open":
      return process?.stopping ? "Stopping: running tasks finish, but no other task starts." : STATUS[status];
  }
}

const STATUS: Readonly<Record<RunProgress["status"], string>> = {
  running: "Running.",
  completed: "Completed.",
  interrupted: "Interrupted before its last task. It can be resumed.",
};

/** Avoids setting the same text twice, because screen readers would read it again. */
function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

const FIELDS: readonly FilterField[] = [
  { name: "agent_id", label: "Agent id", kind: "text" },
  { name: "model", label: "Model contains", kind: "text" },
  { name: "dataset", label: "Dataset contains", kind: "text" },
  {
    name: "status",
    label: "Status",
    kind: [
      ["running", "running"],
      ["completed", "completed"],
      ["interrupted", "stopped"],
    ],
  },
  { name: "tag", label: "Tag", kind: "text" },
  { name: "text", label: "Name or note contains", kind: "text" },
  { name: "since", label: "From (date, UTC)", kind: "date" },
  { name: "before", label: "Before (date, UTC)", kind: "date" },
];

export function runList(page: HTMLElement, query: URLSearchParams): Promise<void> {
  return filteredList<RunLineJson>(page, query, {
    title: "Runs",
    section: "runs",
    fields: FIELDS,
    none: "No runs yet. Start one with art-e run.",
    load: (filter, next) => offsetPage("/api/runs", filter, next, ({ runs }: RunPageJson) => runs),
    table: runTable,
  });
}

function runTable(runs: readonly RunLineJson[]): HTMLElement {
  const list = table(
    "Runs",
    ["Run", "Agent, model", "Dataset", "Score", "Tasks, status", "Started"],
    runs.map((run) => [
      idLink("runs", run.id, run.name ?? run.id),
      twoLines(run.agent_id, run.model),
      clipped(datasetText(run)),
      run.score === null ? "–" : headline(run.score),
      twoLines(`${run.tasks} of ${run.total_tasks}`, run.status === "interrupted" ? "stopped" : run.status),
      minuteText(run.started_at),
    ]),
  );
  const isUnjudged = runs.some(({ score }) => score?.scorer === "semanticScore");
  return h("div", {}, list, isUnjudged ? h("p", { class: "hint" }, UNJUDGED) : null);
}

function headline(score: NonNullable<RunLineJson["score"]>): HTMLElement {
  const star = score.scorer === "semanticScore" ? "*" : "";
  return twoLines(`${scoreText(score.value)}${star}`, intervalText(score));
}

/** The scores with their intervals. */
function scoreTable(): RunPanel {
  const { element, setTitle, show } = tableSection("Scores so far", ["Score", "Value", "Interval", "Tasks", ""]);
  return {
    element,
    show({ scores, status }) {
      setTitle(status === "running" ? "Scores so far" : "Scores");
      const line = scores.length === 0 ? "" : "Over the completed tasks, with 95% intervals.";
      show(scores, line, (score) => [
        score.label,
        scoreText(score.value),
        intervalText(score),
        score.n,
        drawing(score),
      ]);
    },
  };
}

/** For a training environment's run: reward and tokens of its episodes over time, and their endings. */
function episodeCourse(): RunPanel {
  const charts = h("div", { class: "figures" });
  const endings = tableSection("Endings", ["Ending", "Episodes"]);
  const element = h("div", { hidden: true }, h("h3", {}, "Episodes over time"), charts, endings.element);
  return {
    element,
    show({ episodes, endings: counts }) {
      element.hidden = episodes === null || episodes.length === 0;
      if (episodes === null) return;
      const chart = (name: string, values: readonly (number | null)[], written: (value: number) => string) => {
        const last = values.findLast((value) => value !== null) ?? null;
        const value = last === null ? "–" : written(last);
        return h("figure", {}, h("figcaption", {}, `${name}: ${value} lately`), course(values, written));
      };
      replaceChildren(
        charts,
        chart(
          "Reward",
          episodes.map(({ reward }) => reward),
          scoreText,
        ),
        chart(
          "Tokens per episode",
          episodes.map(({ tokens }) => tokens),
          (tokens) => count(Math.round(tokens)),
        ),
      );
      const rows = Object.entries(counts).sort(([, a], [, b]) => b - a);
      endings.show(rows, "", ([ending, number]) => [endingText(ending), count(number)]);
    },
  };
}

/** A line through the values, scaled from the lowest to the highest, with gaps for missing values. */
function course(values: readonly (number | null)[], written: (value: number) => string): SVGElement {
  const known = values.filter((value) => value !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const x = (i: number) => (values.length < 2 ? 50 : (100 * i) / (values.length - 1));
  const y = (value: number) => (most === least ? 20 : 36 - (32 * (value - least)) / (most - least));
  const label = known.length === 0 ? "no values yet" : `from ${written(least)} to ${written(most)}`;
  const points = values.flatMap((value, i) =>
    value === null ? [] : [{ cx: x(i).toFixed(1), cy: y(value).toFixed(1) }],
  );
  return svg(
    "svg",
    { viewBox: "-3 0 106 50", class: "course", role: "img", "aria-label": label },
    svg("polyline", { points: points.map(({ cx, cy }) => `${cx},${cy}`).join(" "), class: "range" }),
    svg("text", { x: 0, y: 48 }, label),
    // A single point does not form a line.
    ...(points.length === 1 ? points : []).map((point) => svg("circle", { ...point, r: 2 })),
  );
}

/** The interval and value on an axis from 0 to 1, extended if they are outside. */
function drawing({ value, low, high }: RunProgress["scores"][number]): SVGElement | null {
  if (value === null || low === null || high === null) return null;
  const [from, to] = scoreAxis([value, low, high]);
  const at = (x: number) => (100 * (x - from)) / (to - from);
  return svg(
    "svg",
    { viewBox: "-4 0 108 22", class: "interval", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 100, y1: 6, y2: 6, class: "scale" }),
    ...[from, (from + to) / 2, to].map((x) => svg("line", { x1: at(x), x2: at(x), y1: 2, y2: 10, class: "scale" })),
    svg("line", { x1: at(low), x2: at(high), y1: 6, y2: 6, class: "range" }),
    svg("circle", { cx: at(value), cy: 6, r: 3.5 }),
    svg("text", { x: 0, y: 21, "text-anchor": "start" }, axisEnd(from)),
    svg("text", { x: 100, y: 21, "text-anchor": "end" }, axisEnd(to)),
  );
}

/** Actions for a run: its report, a comparison with another run, and labels for its traces. */
function reportButton(runId: string): HTMLElement {
  const failure = h("div");
  const fail = (error: Error) => failure.replaceChildren(errorNotice(error.message));
  const baseline = select({ "aria-label": "Compare with" }, [["", "not compared"]]);
  listOthers(runId, baseline).catch(fail);
  const click = () => openReport(runId, baseline.value).catch(fail);
  return h(
    "div",
    { class: "report-of" },
    h("button", { type: "button", click }, "Open the report"),
    baseline,
    idLink("label", runId, "Label traces"),
    failure,
  );
}

/** Loads the runs with a completed task, newest first. */
async function listOthers(runId: string, list: HTMLSelectElement): Promise<void> {
  const { runs } = await get<RunPageJson>("/api/runs");
  for (const run of runs) {
    if (run.id === runId || run.completed_tasks === 0) continue;
    const label = `compared with ${run.name ?? run.id}: ${run.agent_id}, ${run.model}`;
    list.append(h("option", { value: run.id }, label));
  }
}

/** Opens the window before the request, because pop-up blockers allow it only during the click event. */
async function openReport(runId: string, baseline: string): Promise<void> {
  const report = window.open("", "_blank");
  const path = (id: string) => `/api/runs/${encodeURIComponent(id)}/report`;
  try {
    const { url } = await post<{ url: string }>(
      baseline === "" ? path(runId) : `${path(baseline)}?with=${encodeURIComponent(runId)}`,
      {},
    );
    if (report !== null) report.location.href = url;
  } catch (error) {
    report?.close();
    throw error;
  }
}

/** The run's progress and the figures that matter while it is running. */
function progressFigures(): RunPanel {
  const bar = h("progress", { "aria-label": "Tasks done" });
  const done = h("p", { class: "done" });
  const figures = h("dl", { class: "figures" });
  return {
    element: h("div", {}, bar, done, figures),
    show(progress) {
      const { totalTasks, doneTasks, failedTasks } = progress;
      bar.max = Math.max(1, totalTasks);
      bar.value = doneTasks;
      done.textContent = `${count(doneTasks)} of ${count(totalTasks)} tasks done${failedTasks === 0 ? "" : `, ${count(failedTasks)} of them failed`}`;
      replaceChildren(
        figures,
        ...figuresOf(progress).map(([name, value, note]) =>
          h("div", {}, h("dt", {}, name), h("dd", {}, value, note === "" ? null : h("small", {}, note))),
        ),
      );
    },
  };
}

function figuresOf(progress: RunProgress): [name: string, value: string, note: string][] {
  const { scores, costUsd, maxCostUsd, msLeft, tasksPerMinute, tokens, retries, status } = progress;
  const [headline] = scores;
  return compact([
    headline === undefined
      ? ["Score", "–", "no task is scored yet"]
      : [headline.label, scoreText(headline.value), intervalText(headline)],
    ["Cost", costText(costUsd), maxCostUsd === null ? "" : `of at most ${costText(maxCostUsd)}`],
    status === "running" && timeLeft(msLeft, tasksPerMinute),
    ["Tokens", count(tokens), ""],
    ["Retries", count(retries), ""],
  ]);
}

function timeLeft(msLeft: number | null, tasksPerMinute: number | null): [string, string, string] {
  if (msLeft === null) return ["Time left", "–", "too few tasks have finished"];
  return ["Time left", `about ${duration(msLeft)}`, `${oneDecimal(tasksPerMinute)} tasks per minute`];
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10_000;

/** `ended` means that the server closed the event stream and sends nothing more. */
type Connection = "open" | "lost" | "ended";

interface RunListener {
  onProgress(progress: RunProgress): void;
  onConnection(connection: Connection): void;
}

/**
 * Follows a run until the server ends the stream or `signal` aborts. Throws if the server refuses, for example because
 * the run is unknown.
 */
async function followRun(id: string, listener: RunListener, signal: AbortSignal): Promise<void> {
  const path = `/api/runs/${encodeURIComponent(id)}/events`;
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    try {
      for await (const progress of getEvents<RunProgress>(path, signal)) {
        waitMs = FIRST_WAIT_MS;
        listener.onConnection("open");
        listener.onProgress(progress);
      }
      listener.onConnection("ended");
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof RefusedRequest) throw error;
      listener.onConnection("lost");
      await pause(waitMs);
      if (signal.aborted) return;
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
