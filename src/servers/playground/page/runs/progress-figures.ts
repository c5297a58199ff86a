import { h, replaceChildren } from "../../../../reports/page/shared/dom.js";
import { costText, intervalText, scoreText } from "../../../../reports/page/shared/format.js";
import { count, duration, oneDecimal } from "../../../../reports/text/format-number.js";
import type { RunPanel } from "./run-panel.js";
import type { RunProgressJson } from "./run-progress-json.js";

/** How much is done, and the figures that matter while it goes on. */
export function progressFigures(): RunPanel {
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

function figuresOf(progress: RunProgressJson): [name: string, value: string, note: string][] {
  const { scores, costUsd, maxCostUsd, msLeft, tasksPerMinute, tokens, retries, status } = progress;
  const [headline] = scores;
  return [
    headline === undefined
      ? ["Score", "–", "no task is scored yet"]
      : [headline.label, scoreText(headline.value), intervalText(headline)],
    ["Cost", costText(costUsd), maxCostUsd === null ? "" : `of at most ${costText(maxCostUsd)}`],
    ...(status === "running" ? [timeLeft(msLeft, tasksPerMinute)] : []),
    ["Tokens", count(tokens), ""],
    ["Calls made again", count(retries), ""],
  ];
}

function timeLeft(msLeft: number | null, tasksPerMinute: number | null): [string, string, string] {
  if (msLeft === null) return ["Time left", "–", "too few tasks to tell"];
  return ["Time left", `about ${duration(msLeft)}`, `${oneDecimal(tasksPerMinute)} tasks a minute`];
}
