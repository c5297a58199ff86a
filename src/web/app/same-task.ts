// The answers to a task in other runs over the same questions.
import type { SameTaskJson } from "../../server/response-shapes.js";
import { h, minuteText, replaceChildren, scoreText, untrustedInline } from "../dom.js";
import { spaceWords } from "../report/header.js";
import { get } from "./api.js";
import { clipped, errorNotice, numeric, runTaskLink, table } from "./lists.js";

interface ShownTask {
  readonly runId: string;
  readonly taskId: number | string;
  readonly epoch: number;
}

type Answer = SameTaskJson["answers"][number];

/** Lists the answers to a task in all runs, and steps through them. Empty if no other run has the task. */
export function otherRunsPanel(task: ShownTask): HTMLElement {
  const section = h("section.same-task", { "aria-label": "This task in other runs", hidden: true });
  const query = new URLSearchParams({ task_id: String(task.taskId) });
  get<SameTaskJson>(`/api/runs/${encodeURIComponent(task.runId)}/same-task?${query}`).then(
    (json) => {
      const isShown = ({ run_id, epoch }: Answer) => run_id === task.runId && epoch === task.epoch;
      const at = json.answers.findIndex(isShown);
      section.hidden = json.answers.length < 2 || at < 0;
      if (section.hidden) return;
      replaceChildren(section, ...strip(task, json, at));
      showRow(section);
    },
    (error: Error) => {
      section.hidden = false;
      replaceChildren(section, errorNotice(error.message));
    },
  );
  return section;
}

/** Scrolls the list, but not the panel, to the shown answer. */
function showRow(section: HTMLElement): void {
  const list = section.querySelector(".scroll");
  const row = section.querySelector("[aria-current]")?.closest("tr");
  if (list && row) list.scrollTop = row.offsetTop - list.clientHeight / 2;
}

/** @param at place of the shown answer */
function strip({ runId, taskId, epoch }: ShownTask, { answers, score_label }: SameTaskJson, at: number): HTMLElement[] {
  const linkOf = ({ run_id, epoch }: Answer) => runTaskLink(run_id, taskId, epoch);
  const own = answers[at]?.score ?? null;
  const difference = ({ score }: Answer) => (score === null || own === null ? null : score - own);
  const comparisonLink = (answer: Answer, text: string) => {
    if (answer.run_id === runId) return text;
    const [ids, task] = [[runId, answer.run_id].map(encodeURIComponent), encodeURIComponent(taskId)];
    const label = `Compare with ${nameOf(answer)}: ${text}`;
    return h("a", { href: `#compare/${ids.join(",")}?task=${ids[0]}/${task}/${epoch}`, "aria-label": label }, text);
  };
  const step = (label: string, key: string, to: Answer | undefined) =>
    h(
      "button.quiet",
      {
        "aria-label": label,
        "aria-keyshortcuts": key,
        title: label,
        disabled: to === undefined,
        click: () => to !== undefined && location.assign(linkOf(to)),
      },
      key,
    );
  const rows = answers.map((answer, i) => [
    i === at
      ? h("b", { "aria-current": "true" }, untrustedInline(nameOf(answer)))
      : h("a", { href: linkOf(answer) }, untrustedInline(nameOf(answer))),
    clipped(answer.answer ?? spaceWords(answer.ending)),
    scoreText(answer.score),
    i === at ? "shown" : comparisonLink(answer, signed(difference(answer))),
  ]);
  const columns = ["Run", "Answer", numeric(score_label ?? "Score"), numeric("Difference")];
  return [
    h(
      "h3",
      "This task in other runs",
      step("Answer of the next newer run", "[", answers[at - 1]),
      step("Answer of the next older run", "]", answers[at + 1]),
    ),
    table("Answers to this task", columns, rows),
  ];
}

function nameOf({ run_name, agent_id, model, started_at, epoch }: Answer): string {
  const name = run_name ?? `${agent_id} with ${model}, ${minuteText(started_at)}`;
  return epoch === 1 ? name : `${name}, epoch ${epoch}`;
}

function signed(difference: number | null): string {
  return difference !== null && difference > 0 ? `+${scoreText(difference)}` : scoreText(difference);
}
