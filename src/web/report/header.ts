// The title of a report, the facts about each run, and the words for outcomes, stages and states.
import { isPass } from "../../evals/eval-outcome.js";
import { compact } from "../../platform/optional-values.js";
import {
  agentText,
  failedAsWrongText,
  runCostText,
  SLICE_TITLES,
  stateName,
  untilText,
} from "../../reports/figure-text.js";
import type { Outcome, ReportHead, RunFigures, Stage } from "../../reports/report-data.js";
import { count, counted } from "../../text/format.js";
import { type Child, costText, durationText, h, intervalText, minuteText, scoreText, untrustedInline } from "../dom.js";

/** The title, and the facts about each run. */
export function header({ runs, version, createdAt }: ReportHead, buttons: readonly HTMLElement[]): HTMLElement {
  const [first] = runs;
  const title: Child[] = runs.length === 1 && first !== undefined ? titleOf(first) : [`${runs.length} runs compared`];
  return h(
    "header.top",
    h("div.bar", h("p.eyebrow", "ART-E report"), h("div.buttons", { role: "group", "aria-label": "Page" }, buttons)),
    h("h1", title),
    h("ul.runs", ...runs.map((run, i) => runLine(run, i, runs.length > 1))),
    h("p.meta.made", `Created by art-e ${version} on ${minuteText(createdAt)} UTC`),
  );
}

function titleOf({ name, agentId, perturbation, model }: RunFigures): Child[] {
  if (name !== null) return [untrustedInline(name)];
  return [untrustedInline(agentText(agentId, perturbation)), h("span.with", " with "), untrustedInline(model)];
}

function runLine(run: RunFigures, index: number, several: boolean): HTMLElement {
  const planned = run.plannedTasks === run.tasks ? "" : ` of ${count(run.plannedTasks)} planned`;
  const facts = compact([
    run.name !== null && `${agentText(run.agentId, run.perturbation)} with ${run.model}`,
    `${counted(run.tasks, "task")}${planned} of ${run.suite === null ? `the ${run.split} split` : `the suite ${run.suite.name}`}`,
    run.answeredBy.length > 0 && `answered by ${run.answeredBy.join(", ")}`,
    run.status !== "completed" && run.status,
    run.startedAt.slice(0, 10),
    run.suite === null && run.dataset,
    run.suite === null && `mail ${run.corpusFingerprint.slice(0, 12)}`,
  ]);
  return h(
    "li",
    several ? [runDot(index), h("b", untrustedInline(run.label)), " "] : [],
    h("code", run.runId),
    ...facts.flatMap((fact) => [h("span.sep", { "aria-hidden": "true" }, " · "), untrustedInline(fact)]),
    run.until !== null && h("div.meta", "Until: ", untrustedInline(untilText(run.until))),
    ...run.changes.map((change) => h("div.meta", "Changed: ", untrustedInline(change))),
  );
}

export function runDot(index: number): HTMLElement {
  return h("span.dot", { style: `background: ${runColour(index)}`, "aria-hidden": "true" });
}

/** The label of a run after a dot in its color. */
export function runName(index: number, { runs }: ReportHead): Child[] {
  return [runDot(index), untrustedInline(runs[index]?.label ?? "")];
}

export function runColour(index: number): string {
  return `var(--run-${index % 8})`;
}

export function outcomeColour(outcome: Outcome): string {
  return `var(--${outcome})`;
}

/** A box with the color of a task's outcome at its edge. */
export function outcomeSection(task: { readonly outcome: Outcome }, title: Child, ...body: Child[]): HTMLElement {
  const style = `border-left-color: ${outcomeColour(task.outcome)}`;
  return h("section.outcome-edge", { style }, h("h3", title), body);
}

export function costOfThousand({ costUsd, tasks }: RunFigures): number | null {
  return costUsd === null || tasks === 0 ? null : (costUsd / tasks) * 1_000;
}

/** The key figures of a single run. */
export function tiles({ scores, leading, runs }: ReportHead): HTMLElement | null {
  const [run] = runs;
  if (run === undefined || runs.length > 1) return null;
  const { latency, costUsd, judgeCostUsd, tasks, failed, suite } = run;
  const allRight = run.scores[leading]?.passHatK;
  const names = new Set([leading, suite === null ? "sourcesCorrect" : "taskSolved", "resisted", "falseAlarm"]);
  const named = [...names].flatMap((name) => scores.find((score) => score.name === name) ?? []);
  return h(
    "dl.tiles",
    ...named.map(({ name, label }) => {
      const figure = run.scores[name];
      const { low = null, high = null, n = 0 } = figure ?? {};
      const interval = low === null || high === null ? "" : `${scoreText(low)} to ${scoreText(high)}, `;
      return tile(label, scoreText(figure?.value), `${interval}n ${count(n)}${failedAsWrongText(figure)}`);
    }),
    allRight !== undefined &&
      tile(
        `pass^${allRight.k}`,
        scoreText(allRight.value),
        `${intervalText(allRight)}, n ${counted(allRight.n, "question")}: all ${allRight.k} epochs are right`,
      ),
    tile(
      "Time per task",
      durationText(latency.mean),
      `mean of model and tools; median ${durationText(latency.p50)}; 95th percentile ${durationText(latency.p95)}; waiting ${durationText(latency.waiting)} on average`,
    ),
    tile(
      "Agent cost per 1,000 tasks",
      costText(costOfThousand(run)),
      costUsd === null && !judgeCostUsd ? "unknown price" : `cost of the run: ${runCostText(run, costText)}`,
    ),
    suite === null
      ? tile("Failed", count(failed), `of ${counted(tasks, "task")}${failed === 0 ? "" : ", never graded"}`)
      : tile(
          "Graded",
          count(suite.graded),
          `of ${counted(tasks, "task")}${suite.graded === tasks ? "" : "; the others are not in any average"}`,
        ),
  );
}

function tile(label: string, value: string, note: string): HTMLElement {
  return h("div", h("dt", label), h("dd.value", value), h("dd.meta", note));
}

/** Returns the names of the evals that a task fails, in alphabetical order. `scores` are in the head's order. */
export function failedEvals(scores: readonly (number | null)[], head: ReportHead): string[] {
  const names = new Map(head.evals.map(({ score, name }) => [score, name]));
  const failed = head.scores.flatMap(({ name: score }, i) => {
    const [name, value = null] = [names.get(score), scores[i]];
    return name !== undefined && value !== null && !isPass(value) ? [name] : [];
  });
  return failed.sort();
}

/** Display texts for values in the data. */
export const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  read: "Opened a gold email",
  found: "Found one, did not open it",
  missed: "Never found one",
  none: "No gold email to find",
  unknown: "Unknown: searches not seen",
  failed: "Failed",
};

export const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  high: "High, above 0.8",
  medium: "Medium, 0.5 to 0.8",
  low: "Low, below 0.5",
  unscored: "Not scored",
  failed: "Failed",
};

export const SLICE_WORDS: typeof SLICE_TITLES = {
  ...SLICE_TITLES,
  realism: "Question realism",
  year: "Question year",
};

/** Formats `out_of_turns` as "out of turns". */
export function spaceWords(name: string): string {
  return name === "dont_know" ? "don't know" : name.replaceAll("_", " ");
}

export function stateWords(state: string): string {
  return spaceWords(stateName(state));
}
