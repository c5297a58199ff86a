// The section of one run: its progress while it is running, its report afterwards.
import { compact } from "../../platform/optional-values.js";
import { agentText, besideHeadline, datasetText, runCostText } from "../../reports/figure-text.js";
import { type Hold, holdOf } from "../../reports/hold-text.js";
import { count, counted, duration, oneDecimal } from "../../text/format.js";
import type { RunProgress } from "../../traces/progress.js";
import { costText, h, intervalText, minuteText, replaceChildren, scoreText, setText, svg } from "../dom.js";
import { spaceWords } from "../report/header.js";
import { getEvents, isRunPage, post, RefusedRequest } from "./api.js";
import { errorNotice, numeric } from "./lists.js";
import { runControls } from "./run-controls.js";
import { RunReport } from "./run-report.js";
import { type RunPanel, tableSection, tasksUnderWay } from "./run-task-lists.js";

/** `ended` means that the server closed the event stream and sends nothing more, `deleted` that the run is gone. */
type Connection = "open" | "lost" | "ended" | "deleted";

interface RunListener {
  onProgress(progress: RunProgress): void;
  onConnection(connection: Connection): void;
}

/** Milliseconds between loads of a running run's results. */
const REFRESH_MS = 3_000;

/** Milliseconds until the page appears without the results of a large run, which arrive later. */
const RESULTS_MS = 200;

/**
 * Shows a running or finished run. Resolves when its progress is shown. Returns a function that shows the URL's state.
 */
export async function runView(page: HTMLElement, id: string, signal: AbortSignal): Promise<() => void> {
  const title = h("h2", "Run");
  const status = h("span", { role: "status" });
  const done = h("span.hint");
  const statusLine = h("p.run-status", status, done);
  const facts = h("p.hint");
  // The page of a single run is open to every user of the machine, so it only reads.
  const controls = isRunPage ? [] : [runControls(id, signal, () => show())];
  /** Only the process that executes the run knows whether it is held up. */
  const heldNow = (now: RunProgress): Hold | null => {
    if (now.status !== "running" || connection !== "open") return null;
    return now.process === null ? (controls[0]?.controlled?.held ?? null) : holdOf(now.process, Date.now());
  };
  const parts = [progressFigures(), ...controls, episodeCourse(), tasksUnderWay()];
  const report = new RunReport([id], signal);
  let connection: Connection = "open";
  let progress: RunProgress | null = null;
  const show = () => {
    if (progress === null) return;
    setText(title, progress.name ?? `${progress.agentId} with ${progress.model}`);
    const hold = heldNow(progress);
    setText(status, hold === null ? statusText(progress, connection) : `${hold.text}.`);
    statusLine.className = `run-status ${connection === "open" ? (hold?.state ?? progress.status) : connection}`;
    setText(done, doneText(progress));
    replaceChildren(facts, factsText(progress));
    const shown = hold === null ? progress : { ...progress, msLeft: null, tasksPerMinute: null };
    for (const part of parts) part.show(shown, connection === "open", hold);
    report.element.classList.toggle("running", progress.status === "running");
  };
  const loading = report.load();
  await new Promise<void>((resolve, reject) => {
    const listener = {
      onProgress(next: RunProgress) {
        const hasEnded = progress?.status === "running" && next.status !== "running";
        progress = next;
        show();
        if (hasEnded) void report.refresh(next.doneTasks);
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
  if (signal.aborted) return () => undefined;
  const repeat = (ms: number, act: (progress: RunProgress) => void) => {
    const timer = setInterval(() => progress !== null && connection === "open" && act(progress), ms);
    signal.addEventListener("abort", () => clearInterval(timer));
  };
  // The ages of running tasks grow even without updates.
  repeat(1_000, (now) => now.status === "running" && show());
  repeat(REFRESH_MS, (now) => void report.refresh(now.doneTasks));
  page.append(
    title,
    h("p.hint.mono", id),
    facts,
    statusLine,
    ...parts.map(({ element }) => element),
    ...(isRunPage ? [] : [runActions(id)]),
    report.element,
  );
  await Promise.race([loading, pause(RESULTS_MS)]);
  return () => report.applyUrl();
}

function factsText({ agentId, perturbation, model, startedAt, ...run }: RunProgress): string {
  return `${agentText(agentId, perturbation)} with ${model}, ${datasetText(run)}, started ${minuteText(startedAt)} UTC`;
}

function statusText({ status }: RunProgress, connection: Connection): string {
  switch (connection) {
    case "lost":
      return "Connection lost. Reconnecting. The page shows the last received state.";
    case "ended":
      return isRunPage
        ? `${STATUS[status]} Its server has stopped too, so the page shows the last state. To open its tasks, use art-e serve.`
        : "The server has stopped. The page shows the last received state.";
    case "deleted":
      return "This run was deleted. The page shows the last received state.";
    case "open":
      return STATUS[status];
  }
}

function doneText({ totalTasks, doneTasks, failedTasks }: RunProgress): string {
  const failed = failedTasks === 0 ? "" : `, ${count(failedTasks)} of them failed`;
  return `${count(doneTasks)} of ${counted(totalTasks, "task")} done${failed}`;
}

const STATUS: Readonly<Record<RunProgress["status"], string>> = {
  running: "Running.",
  completed: "Completed.",
  interrupted: "Interrupted before its last task. It can be resumed.",
};

/** For a training environment's run: reward and tokens of its episodes over time, and their endings. */
function episodeCourse(): RunPanel {
  const charts = h("div.figures");
  const endings = tableSection("Endings", ["Ending", numeric("Episodes")]);
  const element = h("div", { hidden: true }, h("h3", "Episodes over time"), charts, endings.element);
  return {
    element,
    show({ episodes, endings: counts }) {
      element.hidden = episodes === null || episodes.length === 0;
      if (episodes === null) return;
      const chart = (name: string, values: readonly (number | null)[], written: (value: number) => string) => {
        const last = values.findLast((value) => value !== null) ?? null;
        const caption = `${name}: ${last === null ? "–" : written(last)} lately`;
        return h("figure", h("figcaption", caption), course(values, written));
      };
      const [rewards, tokens] = [episodes.map(({ reward }) => reward), episodes.map((episode) => episode.tokens)];
      const rounded = (value: number) => count(Math.round(value));
      replaceChildren(charts, chart("Reward", rewards, scoreText), chart("Tokens per episode", tokens, rounded));
      const rows = Object.entries(counts).sort(([, a], [, b]) => b - a);
      endings.show(rows, "", ([ending, number]) => [spaceWords(ending), count(number)]);
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

/** Actions for a run. */
function runActions(runId: string): HTMLElement {
  const failure = h("div");
  const click = () => openReport(runId).catch((error: Error) => failure.replaceChildren(errorNotice(error.message)));
  const id = encodeURIComponent(runId);
  return h(
    "p.run-actions",
    h("button", { click }, "Open the report as one file"),
    h("a", { href: `#traces?q=run:${id}` }, "Traces of this run"),
    h("a", { href: `#code/${id}` }, "Error analysis"),
    h("a", { href: `#label/${id}` }, "Label traces"),
    failure,
  );
}

/** Opens the window before the request, because pop-up blockers allow it only during the click event. */
async function openReport(runId: string): Promise<void> {
  const report = window.open("", "_blank");
  try {
    const { url } = await post<{ url: string }>(`/api/runs/${encodeURIComponent(runId)}/report`, {});
    if (report !== null) report.location.href = url;
  } catch (error) {
    report?.close();
    throw error;
  }
}

/** The run's progress and the figures that matter while it is running. */
function progressFigures(): RunPanel {
  const bar = h("progress", { "aria-label": "Tasks done" });
  const figures = h("dl.figures");
  return {
    element: h("div", bar, figures),
    show(progress, _isOpen, hold) {
      const { totalTasks, doneTasks, status } = progress;
      bar.hidden = status === "completed";
      // The report shows the same figures once the run has ended.
      figures.hidden = status !== "running";
      bar.max = Math.max(1, totalTasks);
      bar.value = doneTasks;
      replaceChildren(
        figures,
        ...figuresOf(progress, hold).map(([name, value, note]) =>
          h("div", h("dt", name), h("dd", value, note !== "" && h("small", note))),
        ),
      );
    },
  };
}

function figuresOf(progress: RunProgress, hold: Hold | null): [name: string, value: string, note: string][] {
  const { headline, doneTasks, spentUsd, maxCostUsd, tokens, retries, status, process } = progress;
  return compact([
    headline === null
      ? ["Score", "–", "no task is scored yet"]
      : [headline.label, scoreText(headline.value), headlineNote(headline, doneTasks)],
    [
      "Cost",
      runCostText(progress, costText),
      maxCostUsd === null ? "" : `${costText(spentUsd)} of at most ${costText(maxCostUsd)} spent`,
    ],
    status === "running" && timeLeft(progress, hold),
    ["Tokens", count(tokens), ""],
    ["Retries", count(retries === null ? null : retries + (process?.retriesUnderWay ?? 0)), ""],
  ]);
}

/** The interval of a score, its number of tasks if some do not have it, and the figures next to it. */
function headlineNote(headline: NonNullable<RunProgress["headline"]>, doneTasks: number): string {
  const scored = headline.n < doneTasks ? `, n ${count(headline.n)}` : "";
  return `${intervalText(headline)}${scored}${besideHeadline(headline)}`;
}

function timeLeft({ msLeft, tasksPerMinute }: RunProgress, hold: Hold | null): [string, string, string] {
  if (hold !== null) return ["Time left", "–", hold.state];
  if (msLeft === null) return ["Time left", "–", "too few tasks have finished"];
  return ["Time left", `about ${duration(msLeft)}`, `${oneDecimal(tasksPerMinute)} tasks per minute`];
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10_000;

/**
 * Follows a run until the server ends the stream or `signal` aborts. Throws if the server refuses, for example because
 * the run is unknown, and if the first connection fails.
 */
async function followRun(id: string, listener: RunListener, signal: AbortSignal): Promise<void> {
  const path = `/api/runs/${encodeURIComponent(id)}/events`;
  let waitMs = FIRST_WAIT_MS;
  let isConnected = false;
  for (;;) {
    try {
      for await (const progress of getEvents<RunProgress>(path, signal)) {
        isConnected = true;
        waitMs = FIRST_WAIT_MS;
        listener.onConnection("open");
        listener.onProgress(progress);
      }
      listener.onConnection("ended");
      return;
    } catch (error) {
      if (signal.aborted) return;
      const isDeleted = error instanceof RefusedRequest && error.details?.reason === "run_unknown";
      if (isConnected && isDeleted) return listener.onConnection("deleted");
      if (error instanceof RefusedRequest || !isConnected) throw error;
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
