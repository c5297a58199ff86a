import { spaceWords } from "../display-texts.js";
import { runDot } from "../header.js";
import type { Task } from "../load-report.js";
import type { ReportHead } from "../report-data.js";
import { EMPTY_VIEW, taskName, writeView } from "../route.js";
import { h, untrustedInline, untrustedText } from "../shared/dom.js";
import { scoreText } from "../shared/format.js";
import { markDifferences } from "./word-diff.js";

/**
 * What each run made of one task, side by side, with the words marked in which it differs from the first; of two, in
 * both. `tasks`: one a run. `shown`: the one whose conversation is shown; the others are links.
 */
export function answerColumns(
  tasks: readonly Task[],
  shown: Task | null,
  metric: string,
  head: ReportHead,
): HTMLElement[] {
  const score = head.scores.findIndex(({ name }) => name === metric);
  return tasks.map((task, i) => {
    const label = untrustedInline(head.runs[task.run]?.label ?? "");
    const other = i > 0 ? tasks[0] : tasks.length === 2 ? tasks[1] : undefined;
    return h(
      "section",
      { class: `outcome-edge-${task.outcome}` },
      h(
        "h3",
        {},
        runDot(task.run),
        task === shown ? label : h("a", { href: writeView({ ...EMPTY_VIEW, task: taskName(task, head) }) }, label),
        " ",
        h("span", { class: "figure" }, scoreText(task.scores[score])),
      ),
      outcomeBody(task, other),
    );
  });
}

function outcomeBody(task: Task, other: Task | undefined): HTMLElement {
  const text = outcomeText(task);
  if (text === "") return h("p", { class: "meta" }, "no answer");
  return other === undefined ? untrustedText(text) : markDifferences(text, outcomeText(other));
}

/** The answer to a question; of a suite's task its state, and why it is not solved. */
function outcomeText({ answer, error, suite }: Task): string {
  if (suite === null) return answer === "" ? (error ?? "") : answer;
  return [spaceWords(suite.state), suite.reason].filter((part) => part !== "").join(": ");
}
