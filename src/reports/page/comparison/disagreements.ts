import { count } from "../../text/format-number.js";
import type { Task } from "../load-report.js";
import type { ReportHead } from "../report-data.js";
import { EMPTY_VIEW, filterLink, taskName, writeView } from "../route.js";
import { type Child, h, untrustedInline } from "../shared/dom.js";
import { type PairOutcomes, writeOutcome } from "./pair-outcomes.js";
import { answerColumns } from "./side-by-side-answers.js";

/** Tasks shown of those that were lost, and of those that were won. */
const SHOWN = 3;

/** Tasks of which the run and the first have other scores, largest differences first, with both answers. */
export function disagreements(candidate: number, metric: string, head: ReportHead, outcomes: PairOutcomes): Child[] {
  const runId = head.runs[candidate]?.runId ?? null;
  const score = head.scores.findIndex(({ name }) => name === metric);
  const sides = (["lost", "won"] as const).map((outcome) => {
    const pairs = outcomes.taskIds(outcome, candidate, metric).flatMap((taskId) => {
      const [first, second] = outcomes.sameTask(taskId, 1, [0, candidate]);
      return first === undefined || second === undefined ? [] : [{ first, second, gap: gapOf(first, second, score) }];
    });
    return { outcome, pairs: pairs.toSorted((a, b) => b.gap - a.gap) };
  });
  const total = sides.reduce((sum, { pairs }) => sum + pairs.length, 0);
  if (total === 0) return [];
  const all = filterLink({ compared: writeOutcome({ outcome: "differs", runId, metric }) });
  return [
    h("h4", {}, "Where they disagree"),
    ...sides.flatMap(({ outcome, pairs }) =>
      pairs.slice(0, SHOWN).map(({ first, second }) => disagreement(outcome, [first, second], metric, head)),
    ),
    h("p", {}, h("a", { href: all }, `All ${count(total)} in the table`)),
  ];
}

function gapOf(first: Task, second: Task, score: number): number {
  return Math.abs((second.scores[score] ?? 0) - (first.scores[score] ?? 0));
}

function disagreement(outcome: "lost" | "won", pair: readonly [Task, Task], metric: string, head: ReportHead): Child {
  const [first, second] = pair;
  return h(
    "article",
    { class: "disagreement" },
    h(
      "p",
      {},
      h("span", { class: `badge badge-${outcome}` }, outcome),
      " ",
      h("a", { href: writeView({ ...EMPTY_VIEW, task: taskName(second, head) }) }, untrustedInline(questionOf(first))),
    ),
    h("div", { class: "answers" }, ...answerColumns(pair, null, metric, head)),
  );
}

/** The first line, which is enough to recognise a long instruction. */
function questionOf({ question }: Task): string {
  const [line = ""] = question.split("\n");
  return line.length <= 200 ? line : `${line.slice(0, 199)}…`;
}
