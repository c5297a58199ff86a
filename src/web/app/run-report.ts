// Shows the report of stored runs inside the served pages.
import { compact } from "../../platform/optional-values.js";
import type { Report, ReportHead, TraceView } from "../../reports/report-data.js";
import { counted } from "../../text/format.js";
import { type Child, h, replaceChildren } from "../dom.js";
import { header } from "../report/header.js";
import { readTasks, type Task, TraceMissing, type TraceSource } from "../report/load.js";
import { ReportView } from "../report/report-view.js";
import { setPlace } from "../report/view-state.js";
import { get, isRunPage, RefusedRequest } from "./api.js";
import { judgmentPanel } from "./judgments.js";
import { loadLibraries } from "./libraries.js";
import { errorNotice, idLink, labelLink } from "./lists.js";
import { playgroundLink } from "./repeat.js";
import { otherRunsPanel } from "./same-task.js";
import { loadMail } from "./trace.js";

/** The report of stored runs as a section of the served pages. */
export class RunReport {
  private readonly report = h("div", { id: "report" });
  /** The styles of reports apply inside this element, and those of the other sections do not. */
  readonly element = h("div.served", this.report);
  private readonly notice = h("div", { role: "status" });
  private readonly body = h("div", h("p.meta", { role: "status" }, "Loading the results …"));
  private view: ReportView | null = null;
  /** Aborts when newer data replaces the view. */
  private shown = new AbortController();
  private loading: Promise<void> | null = null;
  /** Number of tasks in the view. */
  private tasks = 0;

  constructor(
    private readonly runIds: readonly string[],
    private readonly signal: AbortSignal,
  ) {
    replaceChildren(this.report, this.notice, this.body);
    signal.addEventListener("abort", () => this.shown.abort());
  }

  /** Loads the runs and shows them. Calls during a load wait for the same data. */
  load(): Promise<void> {
    this.loading ??= this.loadOnce().finally(() => {
      this.loading = null;
    });
    return this.loading;
  }

  /** Shows the new results of a run, or offers to show them while the user works with the report. */
  async refresh(doneTasks: number): Promise<void> {
    const fresh = doneTasks - this.tasks;
    if (fresh <= 0 || this.loading !== null) return;
    if (this.view?.isInUse !== true) return this.load();
    const click = () => void this.load();
    replaceChildren(this.notice, h("button.quiet", { click }, `Show ${counted(fresh, "new task")}`));
  }

  /** Shows the task and the filters from the URL fragment. */
  applyUrl(): void {
    this.view?.applyUrl();
  }

  private async loadOnce(): Promise<void> {
    const [first = "", ...others] = this.runIds.map(encodeURIComponent);
    try {
      const path = `/api/runs/${first}/report${others.length === 0 ? "" : `?with=${others.join(",")}`}`;
      const [json] = await Promise.all([get<Report>(path), loadLibraries("d3", "plot", "diff")]);
      if (!this.signal.aborted) this.show(json);
    } catch (error) {
      if (this.signal.aborted) return;
      // The last data remains in the page.
      if (this.view === null) replaceChildren(this.body);
      replaceChildren(this.notice, errorNotice((error as Error).message));
    }
  }

  private show({ head, tasks: rows }: Report): void {
    const tasks = readTasks(head, rows);
    this.tasks = tasks.length;
    this.shown.abort();
    this.shown = new AbortController();
    replaceChildren(this.notice);
    if (tasks.length === 0) {
      replaceChildren(this.body, h("p.meta", "No task has finished yet."));
      return;
    }
    setPlace(placeOf(location.hash));
    this.view = new ReportView(head, tasks, new ServedTraces(head), {
      signal: this.shown.signal,
      first: "worst",
      links: (task, trace) => taskLinks(task, trace, head),
    });
    const several = head.runs.length > 1 ? header(head, []) : null;
    replaceChildren(this.body, several, this.view.sections, this.view.dialog);
    // A dialog opens only in the document. The first view is added to it later and then shows the URL's state.
    if (this.element.isConnected) this.view.applyUrl();
  }
}

/** Returns the section of a URL fragment with its id, without the query. */
function placeOf(hash: string): string {
  return hash.slice(1).split("?", 1)[0] ?? "";
}

/** Loads the conversations of a report's tasks from the server. */
class ServedTraces implements TraceSource {
  readonly loadMail = loadMail;

  constructor(private readonly head: ReportHead) {}

  async load({ run, taskId, epoch }: Task): Promise<TraceView> {
    const id = encodeURIComponent(this.head.runs[run]?.runId ?? "");
    const query = new URLSearchParams({ task_id: String(taskId), epoch: String(epoch) });
    try {
      return await get<TraceView>(`/api/runs/${id}/conversation?${query}`);
    } catch (error) {
      const isDeleted = error instanceof RefusedRequest && error.details?.reason === "run_unknown";
      throw new TraceMissing((error as Error).message, isDeleted);
    }
  }
}

/** Links from a task to its trace, its labels and the playground. */
function taskLinks(task: Task, trace: TraceView | null, head: ReportHead): Child[] {
  const run = head.runs[task.run];
  if (run === undefined) return [];
  return compact([
    trace !== null && idLink("trace", trace.traceId, "Trace"),
    !isRunPage && trace !== null && labelLink(run.runId, trace.traceId),
    !isRunPage && trace !== null && task.suite === null && playgroundLink(trace.traceId),
    !isRunPage && trace !== null && judgmentPanel(trace.traceId),
    trace !== null && otherRunsPanel({ ...task, runId: run.runId }),
  ]);
}

/** Compares runs with the first one. `ids` are separated by commas. */
export async function compareView(page: HTMLElement, ids: string, signal: AbortSignal): Promise<() => void> {
  const report = new RunReport(ids.split(","), signal);
  page.append(h("h2.hidden", "Compare runs"), report.element);
  await report.load();
  return () => report.applyUrl();
}
