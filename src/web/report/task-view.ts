// The dialog with one task: scores, time line, conversation and gold emails.
import { compact } from "../../platform/optional-values.js";
import type { MailView, ReportHead, TraceView } from "../../reports/report-data.js";
import { TIMELINE_WORDS } from "../../reports/trace-text.js";
import { count, counted, duration } from "../../text/format.js";
import { locateAnswer } from "../../text/passages.js";
import { sumByKind, type TimelineSegment } from "../../traces/timeline.js";
import {
  type Child,
  copyButton,
  costText,
  factLine,
  h,
  replaceChildren,
  scoreText,
  untrustedInline,
  untrustedText,
} from "../dom.js";
import { attackTable } from "./attack-table.js";
import { changeTable } from "./change-table.js";
import { answerColumns } from "./comparison.js";
import { conversation, type LoadMail, mailCard, mailWords, openedMails, type ShownMails } from "./conversation.js";
import { outcomeSection, runDot, runName, STAGE_WORDS, spaceWords } from "./header.js";
import { scoreOf, type Task, TraceMissing, type TraceSource } from "./load.js";
import type { PairOutcomes } from "./pair-outcomes.js";
import { selectionTable } from "./selection-table.js";
import { headingOf, pictureColumn, suiteSummary } from "./suite-task.js";
import { taskLink, taskName } from "./view-state.js";

const OF_RESULTS_FILE = "This run was read from a results file, which does not contain conversations.";

/** Returns links from a task to other sections of the page. `trace` is null until the conversation is loaded. */
export type TaskLinks = (task: Task, trace: TraceView | null) => readonly Child[];

interface TaskNavigation {
  /** The tasks in the order of the table. */
  neighbours(): readonly Task[];
  /** Opens another task, or closes the dialog if it is null. */
  go(task: Task | null): void;
}

interface ShownScore {
  readonly label: string;
  readonly value: number | null;
  /** The reason for the value, or an empty string. */
  readonly reason: string;
}

interface CopiedParts {
  readonly question: string;
  /** Empty if there is none. */
  readonly answer: string;
  /** Null until the conversation is loaded. */
  readonly traceId: string | null;
  readonly command: string;
}

/** A dialog with one task. Escape closes it, and the arrow keys open the next task in the table. */
export class TaskDialog {
  readonly element: HTMLDialogElement;
  private readonly content = h("div.content");
  private readonly position = h("span.meta.position");
  private task: Task | null = null;

  constructor(
    private readonly head: ReportHead,
    private readonly tasks: readonly Task[],
    private readonly outcomes: PairOutcomes,
    private readonly source: TraceSource,
    private readonly links: TaskLinks,
    private readonly navigation: TaskNavigation,
  ) {
    const button = (label: string, name: string, keys: string, click: () => void) =>
      h("button.quiet", { "aria-label": name, title: name, "aria-keyshortcuts": keys, click }, label);
    this.element = h(
      "dialog.task",
      { "aria-labelledby": "task-title" },
      h(
        "div.bar",
        h(
          "div.buttons",
          button("←", "Previous task", "k ArrowLeft", () => this.step(-1)),
          button("→", "Next task", "j ArrowRight", () => this.step(1)),
        ),
        this.position,
        button("Close", "Close", "Escape", () => this.element.close()),
      ),
      this.content,
    );
    this.element.addEventListener("close", () => {
      // The event is asynchronous, so another task can be open by now.
      if (this.element.open) return;
      this.task = null;
      this.navigation.go(null);
    });
    // The dialog does not have padding, so a click with the dialog as its target is on the backdrop.
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) this.element.close();
    });
  }

  get isOpen(): boolean {
    return this.element.open;
  }

  close(): void {
    if (this.element.open) this.element.close();
  }

  async show(task: Task): Promise<void> {
    if (this.task === task && this.element.open) return;
    this.task = task;
    const rows = this.navigation.neighbours();
    const index = rows.indexOf(task);
    replaceChildren(this.position, index < 0 ? "" : `${count(index + 1)} of ${count(rows.length)}`);
    const scores = h("div", ...this.scores(task, null));
    const links = h("div.task-links", this.copyMenu(task, null), ...this.links(task, null));
    const columns = h("div", { "aria-live": "polite" }, h("p.meta", "Loading the conversation…"));
    replaceChildren(
      this.content,
      ...this.title(task),
      links,
      taskSummary(task, this.head, this.tasks, this.outcomes),
      scores,
      columns,
    );
    if (!this.element.open) this.element.showModal();
    // Focus the heading, so that screen readers read the question before the buttons.
    this.element.querySelector("h2")?.focus();
    this.element.scrollTop = 0;
    try {
      if (this.head.runs[task.run]?.hasConversations === false) {
        replaceChildren(columns, h("p.meta", OF_RESULTS_FILE));
        return;
      }
      const trace = await this.source.load(task);
      if (this.task !== task) return;
      replaceChildren(scores, ...this.scores(task, trace));
      replaceChildren(links, this.copyMenu(task, trace), ...this.links(task, trace));
      const mails = shownMails(trace, task, this.source.loadMail?.bind(this.source) ?? null);
      const words = mailWords(trace.steps.flatMap(({ calls }) => calls.map(({ result }) => result)));
      replaceChildren(
        columns,
        attackTable(trace.attack),
        changeTable(trace.changes, words),
        selectionTable(
          trace.selection.map(({ state, email, evidence }) => ({
            state,
            email: untrustedInline(email),
            evidence: untrustedInline(evidence.join("; ")),
          })),
        ),
        timeline(trace.timeline),
        traceColumns(trace, mails, this.runLabel(task, " of ", "")),
      );
    } catch (error) {
      if (this.task !== task) return;
      const reason = error instanceof TraceMissing ? error.message : "The conversation could not be read.";
      const isDeleted = error instanceof TraceMissing && error.isDeleted;
      const command = [" ", h("code", showCommand(task, this.head)), " shows it in a terminal."];
      replaceChildren(columns, h("p.meta", reason, !isDeleted && command));
    }
  }

  /** The grade of a suite task is in its summary. */
  private scores(task: Task, trace: TraceView | null): Child[] {
    return task.suite === null ? [scoreList(scoresOf(task, this.head, trace), trace?.judge ?? null)] : [];
  }

  private title(task: Task): Child[] {
    const { taskId, epoch, question, date, inbox, suite } = task;
    const name = `Task ${taskId}${epoch === 1 ? "" : `, epoch ${epoch}`}`;
    const facts =
      suite === null
        ? [`${name} · asked ${date} · `, untrustedInline(inbox)]
        : [untrustedInline([...new Set([name, suite.tool, suite.snapshot, suite.guidance])].join(" · "))];
    const heading = suite === null ? question : headingOf(question);
    return [
      h("p.eyebrow", ...this.runLabel(task, "", " · "), ...facts),
      h("h2", { id: "task-title", dir: "auto", tabindex: -1 }, heading),
    ];
  }

  /** The run of the task, if there are several runs. */
  private runLabel({ run }: Task, before: string, after: string): Child[] {
    return this.head.runs.length === 1 ? [] : [before, ...runName(run, this.head), after];
  }

  private copyMenu(task: Task, trace: TraceView | null): HTMLElement {
    return copyMenu({ ...task, traceId: trace?.traceId ?? null, command: showCommand(task, this.head) });
  }

  private step(by: number): void {
    const rows = this.navigation.neighbours();
    const next = this.task === null ? undefined : rows[rows.indexOf(this.task) + by];
    if (next !== undefined) this.navigation.go(next);
  }
}

/** A menu of the parts of a task that can be copied. It closes when the focus leaves it. */
export function copyMenu({ question, answer, traceId, command }: CopiedParts): HTMLElement {
  const menu = h(
    "details.menu",
    h("summary.button", "Copy"),
    h(
      "div",
      copyButton("Copy the question", question),
      answer !== "" && copyButton("Copy the answer", answer),
      traceId !== null && copyButton("Copy the trace id", traceId),
      copyButton("Copy the command", command),
    ),
  );
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && menu.contains(relatedTarget))) menu.open = false;
  });
  return menu;
}

/** The command that shows a task in a terminal. */
function showCommand(task: Task, head: ReportHead): string {
  return `art-e show ${taskName(task, head)}`;
}

/** A time line with the kinds of time and their sums, or null if no times are known. */
function timeline(segments: readonly TimelineSegment[]): HTMLElement | null {
  const total = segments.reduce((sum, { durationMs }) => sum + durationMs, 0);
  if (segments.every(({ kind }) => kind === "other")) return null;
  return h(
    "section.timeline",
    h("h3", "Time"),
    h("div.line", { "aria-hidden": "true" }, ...segments.map((segment) => stretch(segment, total))),
    h(
      "ul.meta.legend",
      ...sumByKind(segments).map(({ kind, ms }) =>
        h(
          "li",
          h("span", { class: `key time-${kind}`, "aria-hidden": "true" }),
          `${TIMELINE_WORDS[kind]} `,
          h("b.figure", duration(ms)),
        ),
      ),
    ),
  );
}

function stretch({ kind, startMs, durationMs, turn, detail }: TimelineSegment, total: number): HTMLElement {
  const where = turn === null ? "" : `turn ${turn}, `;
  const what = detail === null ? TIMELINE_WORDS[kind] : `${TIMELINE_WORDS[kind]}: ${detail}`;
  const share = (ms: number) => `${((ms / total) * 100).toFixed(3)}%`;
  const style = `left: ${share(startMs)}; width: ${share(durationMs)}`;
  return h("span", { class: `time-${kind}`, title: `${where}${what}, ${duration(durationMs)}`, style });
}

/** Answer and gold answer side by side, and the outcome, as in the table's row. */
function taskSummary(task: Task, head: ReportHead, tasks: readonly Task[], outcomes: PairOutcomes): HTMLElement {
  const same = tasks.filter((other) => other.taskId === task.taskId && other.question === task.question);
  const ofRuns = outcomes
    .sameTask(task.taskId, task.epoch)
    .map((other) => (other.run === task.run ? task : other))
    .filter((other) => same.includes(other));
  const others = same.filter((other) => !ofRuns.includes(other));
  const otherLines = others.length === 0 ? null : otherAnswers(others, head);
  if (task.suite !== null) {
    return h(
      "div.summary",
      ...suiteSummary(task, task.suite, head, tasks),
      ofRuns.length < 2 ? null : h("div.answers", ...answerColumns(ofRuns, task, head.leading, head)),
      otherLines,
    );
  }
  const facts = factLine(
    spaceWords(task.ending),
    // A task that asks for actions has no gold answer and no gold emails.
    task.gold === "" ? null : STAGE_WORDS[task.stage],
    task.turns === null ? null : counted(task.turns, "turn"),
    duration(task.ms),
    task.costUsd === null ? null : costText(task.costUsd),
  );
  const answer = task.answer === "" ? h("p.meta", "none") : untrustedText(task.answer);
  return h(
    "div.summary",
    h("p.facts", facts),
    task.error === null ? null : h("p.error", untrustedInline(task.error)),
    h(
      "div.answers",
      ...(ofRuns.length < 2
        ? [outcomeSection(task, "Answer", answer)]
        : answerColumns(ofRuns, task, head.leading, head)),
      // A task that asks for actions has a table of changes instead.
      task.gold === "" ? null : h("section", h("h3", "Gold answer"), untrustedText(task.gold)),
    ),
    otherLines,
  );
}

function otherAnswers(others: readonly Task[], head: ReportHead): HTMLElement {
  return h(
    "section.others",
    h("h3", "Epochs of the task"),
    h(
      "ul",
      ...others.map((other) =>
        h(
          "li",
          runDot(other.run),
          h(
            "a",
            { href: taskLink(other, head) },
            untrustedInline(head.runs[other.run]?.label ?? ""),
            other.epoch === 1 ? null : `, epoch ${other.epoch}`,
          ),
          h("span.figure", scoreText(scoreOf(other, head.leading, head))),
          untrustedInline(other.answer === "" ? "no answer" : other.answer, "answer"),
        ),
      ),
    ),
  );
}

/** Returns the task's scores with their reasons, which are known when the conversation is loaded. */
function scoresOf(task: Task, head: ReportHead, trace: TraceView | null): ShownScore[] {
  return head.scores.flatMap(({ name, label }, i) => {
    const [value, reason] = [task.scores[i] ?? null, trace?.scores[name]?.explanation ?? ""];
    return value === null && reason === "" ? [] : [{ label, value, reason }];
  });
}

export function scoreList(scores: readonly ShownScore[], judge: TraceView["judge"]): HTMLElement {
  const verdict = judge !== null && [
    h(
      "p.verdict",
      "Judge: ",
      h("b", untrustedInline(spaceWords(judge.verdict))),
      " ",
      untrustedInline(judge.reason ?? ""),
    ),
  ];
  const rows = scores.map(({ label, value, reason }) =>
    h(
      "div",
      h("dt", label),
      h("dd.figure.strong", scoreText(value)),
      reason !== "" && h("dd.meta.reason", untrustedInline(reason)),
    ),
  );
  return h(
    "section.task-scores",
    { "aria-label": "Scores" },
    h("h3", "Scores"),
    verdict,
    rows.length === 0 ? h("p.meta", "A failed task is not graded.") : h("dl", rows),
  );
}

/** The conversation, and next to it the emails or the images of a suite task. `runLabel` follows its heading. */
function traceColumns(trace: TraceView, mails: ShownMails, runLabel: readonly Child[]): HTMLElement {
  const { left, steps } = trace;
  if (left !== null && steps.length === 0) {
    return h("p.meta", "The agent did not start, so there is no conversation.");
  }
  const beside = left === null ? mailColumn(trace, mails) : pictureColumn(left);
  return h(
    "div",
    { class: beside.length === 0 ? "columns single" : "columns" },
    h(
      "section",
      h("h3", "Conversation", ...runLabel),
      conversation(steps, new Set(trace.goldIds), left !== null, mails),
    ),
    beside.length === 0 ? null : h("section.beside", ...beside),
  );
}

/** The gold emails, and the other emails that the agent opened. */
function mailColumn(trace: TraceView, { known, card }: ShownMails): Child[] {
  const gold = new Set(trace.goldIds);
  const cited = new Set(trace.sources);
  const shown = new Set(trace.gold.map(({ messageId }) => messageId));
  // A gold email that is not in the database is shown as a tool returned it.
  const others = [...known.values()].filter(
    ({ messageId }) => !shown.has(messageId) && (!gold.has(messageId) || trace.goldMissing.includes(messageId)),
  );
  const badgesOf = (mail: MailView) => (cited.has(mail.messageId) ? ["cited"] : []);
  const goldCards = trace.gold.map((mail) =>
    card(mail, compact(["gold", REACHED[mail.reached], mail.cited && "cited"]), true),
  );
  const otherCards = others.map((mail) => card(mail, badgesOf(mail), false));
  const first = [...goldCards, ...otherCards][0]?.querySelector("summary");
  first?.setAttribute("aria-keyshortcuts", "e");
  first?.setAttribute("title", "First email");
  const hasGold = trace.gold.length + trace.goldMissing.length > 0;
  // The gold of a task that asks for changes or for emails is in their table.
  const isQuestion = trace.changes.length + trace.selection.length === 0;
  return [
    (hasGold || isQuestion) && h("h3", "Gold email"),
    ...goldCards,
    ...trace.goldMissing.map((id) => h("p.meta", untrustedInline(id), " is not in the database.")),
    !hasGold && isQuestion && h("p.meta", "The question has none, because the mailbox does not contain the answer."),
    h("h3", hasGold || isQuestion ? "Other emails that the agent opened" : "Emails that the agent opened"),
    ...otherCards,
    others.length === 0 ? h("p.meta", "None.") : null,
  ];
}

const REACHED = { read: "read", found: "found, not read", missed: "never found" } as const;

/**
 * The gold emails and the emails that tools returned in full. In a gold email, the passage closest to the gold answer
 * is marked. In another cited email, it is the passage closest to the agent's answer.
 */
function shownMails(trace: TraceView, { question, gold, answer }: Task, load: LoadMail): ShownMails {
  const known = openedMails(trace.steps);
  for (const mail of trace.gold) known.set(mail.messageId, mail);
  const goldIds = new Set([...trace.goldIds, ...trace.gold.map(({ messageId }) => messageId)]);
  const answerIn = (id: string) => (goldIds.has(id) ? gold : trace.sources.includes(id) ? answer : "");
  return {
    known,
    load,
    card(mail, badges, isOpen) {
      const words = answerIn(mail.messageId);
      const passage = words === "" ? null : locateAnswer(mail.body, { question, answer: words });
      return mailCard(mail, badges, isOpen, passage);
    },
  };
}
