import { readToolResult } from "../../html/tool-results.js";
import { duration } from "../../text/format-number.js";
import type { PairOutcomes } from "../comparison/pair-outcomes.js";
import { answerColumns } from "../comparison/side-by-side-answers.js";
import { STAGE_WORDS, spaceWords } from "../display-texts.js";
import { runDot } from "../header.js";
import type { Task } from "../load-report.js";
import type { MailView, ReportHead, TraceView } from "../report-data.js";
import { EMPTY_VIEW, taskName, writeView } from "../route.js";
import { type Child, h, untrustedInline, untrustedText } from "../shared/dom.js";
import { costText, scoreText } from "../shared/format.js";
import { pictureColumn } from "../suite/pictures.js";
import { suiteSummary } from "../suite/suite-task-view.js";
import { conversation } from "./conversation.js";
import { mailCard } from "./mail-card.js";

/** Answer and gold answer side by side, and the outcome: what the table's row contains. */
export function taskSummary(task: Task, head: ReportHead, tasks: readonly Task[], outcomes: PairOutcomes): HTMLElement {
  const same = tasks.filter((other) => other.taskId === task.taskId && other.question === task.question);
  const ofRuns = outcomes
    .sameTask(task.taskId, task.epoch, [...head.runs.keys()])
    .map((other) => (other.run === task.run ? task : other))
    .filter((other) => same.includes(other));
  const others = same.filter((other) => !ofRuns.includes(other));
  const otherLines = others.length === 0 ? null : otherAnswers(others, head);
  if (task.suite !== null) {
    return h(
      "div",
      { class: "summary" },
      ...suiteSummary(task, task.suite, head, tasks),
      ofRuns.length < 2 ? null : h("div", { class: "answers" }, ...answerColumns(ofRuns, task, head.leading, head)),
      otherLines,
    );
  }
  const facts = [
    spaceWords(task.ending),
    STAGE_WORDS[task.stage],
    `${task.turns} turns`,
    duration(task.ms),
    ...(task.costUsd === null ? [] : [costText(task.costUsd)]),
  ];
  const answer = task.answer === "" ? h("p", { class: "meta" }, "none") : untrustedText(task.answer);
  return h(
    "div",
    { class: "summary" },
    h("p", { class: "facts" }, [...new Set(facts)].join(" · ")),
    task.error === null ? null : h("p", { class: "error" }, untrustedInline(task.error)),
    h(
      "div",
      { class: "answers" },
      ...(ofRuns.length < 2
        ? [h("section", { class: `outcome-edge-${task.outcome}` }, h("h3", {}, "Answer"), answer)]
        : answerColumns(ofRuns, task, head.leading, head)),
      h("section", { class: "gold-answer" }, h("h3", {}, "Gold answer"), untrustedText(task.gold)),
    ),
    otherLines,
  );
}

function otherAnswers(others: readonly Task[], head: ReportHead): HTMLElement {
  const leading = head.scores.findIndex(({ name }) => name === head.leading);
  return h(
    "section",
    { class: "others" },
    h("h3", {}, "Repeats of the task"),
    h(
      "ul",
      {},
      ...others.map((other) =>
        h(
          "li",
          {},
          runDot(other.run),
          h(
            "a",
            { href: writeView({ ...EMPTY_VIEW, task: taskName(other, head) }) },
            untrustedInline(head.runs[other.run]?.label ?? ""),
            other.epoch === 1 ? null : `, repeat ${other.epoch}`,
          ),
          h("span", { class: "figure" }, scoreText(other.scores[leading])),
          untrustedInline(other.answer === "" ? "no answer" : other.answer, "answer"),
        ),
      ),
    ),
  );
}

/** Scores with their explanations. */
export function scoreList(task: Task, head: ReportHead, trace: TraceView | null): HTMLElement {
  const rows = head.scores.flatMap(({ name, label }, i) => {
    const value = task.scores[i] ?? null;
    const explanation = trace?.scores[name]?.explanation ?? "";
    if (value === null && explanation === "") return [];
    return [
      h(
        "div",
        {},
        h("dt", {}, label),
        h("dd", { class: "figure strong" }, scoreText(value)),
        explanation === "" ? null : h("dd", { class: "reason" }, untrustedInline(explanation)),
      ),
    ];
  });
  const { judge = null } = trace ?? {};
  return h(
    "section",
    { class: "task-scores" },
    h("h3", {}, "Scores"),
    judge === null
      ? null
      : h(
          "p",
          { class: "verdict" },
          "Judge: ",
          h("b", {}, untrustedInline(spaceWords(judge.verdict))),
          " ",
          untrustedInline(judge.reason ?? ""),
        ),
    rows.length === 0 ? h("p", { class: "meta" }, "A failed task is not graded.") : h("dl", {}, ...rows),
  );
}

/** The conversation, and beside it the gold mail and what the agent read. `runLabel`: follows its heading. */
export function traceColumns(trace: TraceView, runLabel: readonly Child[]): HTMLElement {
  if (trace.left !== null) return suiteColumns(trace, trace.left, runLabel);
  return h(
    "div",
    { class: "columns" },
    h("section", {}, h("h3", {}, "Conversation", ...runLabel), conversation(trace)),
    h("section", { class: "mails" }, ...mailColumn(trace)),
  );
}

/** Of a task of a suite: the conversation, and beside it the pictures that the agent left. */
function suiteColumns(trace: TraceView, left: NonNullable<TraceView["left"]>, runLabel: readonly Child[]): HTMLElement {
  if (trace.steps.length === 0) return h("p", { class: "meta" }, "The agent did not start: there is no conversation.");
  const pictures = pictureColumn(left);
  return h(
    "div",
    { class: pictures.length === 0 ? "columns single" : "columns" },
    h("section", {}, h("h3", {}, "Conversation", ...runLabel), conversation(trace)),
    pictures.length === 0 ? null : h("section", { class: "pictures" }, ...pictures),
  );
}

function mailColumn(trace: TraceView): HTMLElement[] {
  const gold = new Set(trace.goldIds);
  const read = readMails(trace);
  const cited = new Set(trace.sources);
  // A gold mail that is not in the database is shown as a tool returned it.
  const others = read.filter(({ messageId }) => !gold.has(messageId) || trace.goldMissing.includes(messageId));
  const badgesOf = (mail: MailView) => (cited.has(mail.messageId) ? ["cited"] : []);
  return [
    h("h3", {}, "Gold mail"),
    ...trace.gold.map((mail) =>
      mailCard(mail, ["gold", REACHED[mail.reached], ...(mail.cited ? ["cited"] : [])], true),
    ),
    ...trace.goldMissing.map((id) => h("p", { class: "meta" }, untrustedInline(id), " is not in the database.")),
    ...(trace.gold.length + trace.goldMissing.length === 0
      ? [h("p", { class: "meta" }, "The question has none: the mailbox does not hold the answer.")]
      : []),
    h("h3", {}, "Other mail the agent read"),
    ...others.map((mail) => mailCard(mail, badgesOf(mail), false)),
    ...(others.length === 0 ? [h("p", { class: "meta" }, "None.")] : []),
  ];
}

const REACHED = { read: "read", found: "found, not read", missed: "never found" } as const;

/** The distinct mails that tools returned in full. */
function readMails({ steps }: TraceView): MailView[] {
  const mails = new Map<string, MailView>();
  for (const call of steps.flatMap(({ calls }) => calls)) {
    const view = readToolResult(call.result);
    if (view.kind === "mail" && !mails.has(view.mail.messageId)) mails.set(view.mail.messageId, view.mail);
  }
  return [...mails.values()];
}
