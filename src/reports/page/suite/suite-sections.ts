import { figureOf } from "../charts/chart.js";
import { runDot } from "../header.js";
import type { Task } from "../load-report.js";
import type { ReportHead, RunFigures } from "../report-data.js";
import type { SuiteFigures } from "../report-suite.js";
import { section, wide } from "../section.js";
import { h, untrustedInline } from "../shared/dom.js";
import { stepsChart } from "./steps-chart.js";
import { durationTable, guidanceTable } from "./suite-tables.js";

type SuiteRun = RunFigures & { readonly suite: SuiteFigures };

/** The sections of runs over suites; none where all are over questions. */
export function suiteSections(head: ReportHead, tasks: readonly Task[]): HTMLElement[] {
  const runs = head.runs.filter((run): run is SuiteRun => run.suite !== null);
  if (runs.length === 0) return [];
  return [
    section(
      "Abstract against verbose",
      "Tasks that say only the goal, against the same tasks step by step. Each task is compared with its own counterpart.",
      ...runs.map((run) =>
        h(
          "div",
          { class: "run-block" },
          runs.length > 1 ? runName(head, run) : null,
          ...guidanceTable(run.suite.guidance).map((child) =>
            child instanceof HTMLTableElement ? wide(child) : child,
          ),
        ),
      ),
    ),
    section(
      "Steps and time",
      null,
      h("div", { class: "pair uneven" }, figureOf(stepsChart(head, tasks)), wide(durationTable(runs))),
    ),
  ];
}

function runName({ runs }: ReportHead, run: RunFigures): HTMLElement {
  return h("p", { class: "run-name" }, runDot(runs.indexOf(run)), untrustedInline(run.label));
}
