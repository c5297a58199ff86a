import { SLICES, type SliceName } from "../../domain/runs/slice.js";
import { endings, errorList, outcomeLegend, profile, toolTable } from "./charts/bar-list.js";
import { figureOf } from "./charts/chart.js";
import { distributionChart } from "./charts/distribution-chart.js";
import { evalTable } from "./charts/eval-table.js";
import { effortTable, scoreTable } from "./charts/score-table.js";
import { sliceChart } from "./charts/slice-chart.js";
import { turnsChart } from "./charts/turns-chart.js";
import { runDot, tiles } from "./header.js";
import type { Task } from "./load-report.js";
import type { ReportHead, RunFigures } from "./report-data.js";
import { section, wide } from "./section.js";
import { type Child, h, replaceChildren, untrustedInline } from "./shared/dom.js";
import { suiteSections } from "./suite/suite-sections.js";
import { taskStatesChart } from "./suite/task-states-chart.js";

/** The sections above the task table, from the headline scores to the tools. */
export function figureSections(head: ReportHead, tasks: readonly Task[]): HTMLElement[] {
  return [
    section(
      "Scores",
      `${coverage(head)} The interval holds the true value in 95 of 100 such runs.`,
      tiles(head),
      wide(scoreTable(head)),
      ...(head.runs.length > 1 ? [wide(effortTable(head))] : []),
    ),
    ...(head.evals.length === 0 ? [] : [evalSection(head)]),
    section(
      "Where tasks are lost",
      `${LOST[kindOf(head)]} A bar leads to its tasks.`,
      outcomeLegend(head),
      perRun(
        head,
        (run) =>
          run.suite === null
            ? [h("h3", {}, "Gold mail"), profile(run)]
            : taskStatesChart(run.runId, run.tasks, run.suite),
        (run, i) => [...[h("h3", {}, "Endings"), endings(run, i)], ...errors(run)],
      ),
    ),
    ...suiteSections(head, tasks),
    section(
      "How agents work",
      null,
      h("div", { class: "pair uneven" }, figureOf(turnsChart(head)), wide(toolTable(head))),
    ),
  ];
}

const EVALS =
  "An eval makes errors. The corrected rate is the pass rate without those that its newest test measured (Rogan and Gladen); false alarms are the share of good traces that it fails. A name leads to the tasks that fail.";

function evalSection(head: ReportHead): HTMLElement {
  return section("Evals", EVALS, wide(evalTable(head)));
}

type Kind = "questions" | "suites" | "both";

function kindOf({ runs }: ReportHead): Kind {
  const ofSuites = runs.filter(({ suite }) => suite !== null).length;
  return ofSuites === 0 ? "questions" : ofSuites === runs.length ? "suites" : "both";
}

const QUESTIONS_LOST =
  "How far the agent came on the way to a mail that holds the answer, and how good its answer was then.";
const SUITES_LOST = "How tasks ended, and how good what the agent left behind was then.";
const LOST: Readonly<Record<Kind, string>> = {
  questions: QUESTIONS_LOST,
  suites: SUITES_LOST,
  both: `${QUESTIONS_LOST} Of suites: ${SUITES_LOST.charAt(0).toLowerCase()}${SUITES_LOST.slice(1)}`,
};

/** What the scores are taken over. */
function coverage(head: ReportHead): string {
  const kind = kindOf(head);
  if (kind === "questions") return "Over the completed tasks; a failed task is never graded.";
  const ofSuites = "Over the graded tasks; one without a score is never taken as 0.";
  return kind === "suites"
    ? ofSuites
    : `Questions: over the completed tasks. Suites: over the graded tasks. Neither takes a task without a score as 0.`;
}

/** Whether any part of the slice has a value of the score. */
function hasScore(run: RunFigures, by: SliceName, score: string): boolean {
  return (run.slices[by] ?? []).some(({ scores }) => (scores[score]?.n ?? 0) > 0);
}

function errors(run: RunFigures): Child[] {
  const list = errorList(run);
  return list === null ? [] : [h("h3", {}, "Errors of failed tasks"), list];
}

function perRun(
  head: ReportHead,
  ...halves: readonly ((run: RunFigures, index: number) => readonly Child[])[]
): HTMLElement {
  return h(
    "div",
    {},
    ...head.runs.map((run, i) =>
      h(
        "div",
        { class: "run-block" },
        head.runs.length > 1 ? h("p", { class: "run-name" }, runDot(i), untrustedInline(run.label)) : null,
        h("div", { class: "pair" }, ...halves.map((half) => h("div", {}, ...half(run, i)))),
      ),
    ),
  );
}

/** The charts of one score, and the list that chooses the score. */
export function scoreSection(head: ReportHead, onScore: (index: number) => void): HTMLElement {
  const charts = h("div", {});
  const list = h(
    "select",
    { "aria-label": "Score" },
    ...head.scores.map(({ name, label }) => h("option", { value: name }, label)),
  );
  const draw = () => {
    const index = Math.max(0, list.selectedIndex);
    const score = head.scores[index];
    if (score === undefined) return;
    replaceChildren(
      charts,
      figureOf(distributionChart(head, score)),
      h(
        "p",
        { class: "lead" },
        `${score.label} with its 95 % interval by what tasks have in common, and their number. A bar leads to its tasks.`,
      ),
      h(
        "div",
        { class: "pair" },
        ...SLICES.filter((by) => head.runs.some((run) => hasScore(run, by, score.name))).map((by) =>
          figureOf(sliceChart(head, by, score)),
        ),
      ),
    );
    onScore(index);
  };
  list.value = head.leading;
  list.addEventListener("change", draw);
  draw();
  return section("One score in detail", null, h("p", { class: "choose" }, "Score ", list), charts);
}
