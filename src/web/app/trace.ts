// The list of traces and the view of one trace.
import { attackReport } from "../../attacks/obedience.js";
import { definedProperties } from "../../platform/optional-values.js";
import type { MailView, StepView } from "../../reports/report-data.js";
import { readToolResult, stepsOf } from "../../reports/trace-view.js";
import { changesOf } from "../../scoring/goal-match.js";
import type { ChatEvent } from "../../server/chat-event.js";
import type { MailJson, TraceDetailsJson, TraceLineJson, TracePageJson } from "../../server/response-shapes.js";
import { duration } from "../../text/format.js";
import type { TextSpan } from "../../text/passages.js";
import { TRACE_FIELDS } from "../../traces/list-fields.js";
import { turnsText } from "../../traces/observed-work.js";
import type { ChatTrace, Trace, Turn } from "../../traces/trace.js";
import {
  append,
  type Child,
  h,
  highlightedText,
  minuteText,
  replaceChildren,
  scoreText,
  svg,
  untrustedInline,
  untrustedText,
} from "../dom.js";
import { attackTable } from "../report/attack-table.js";
import { changeTable } from "../report/change-table.js";
import {
  addressList,
  callItem,
  conversation,
  mailCard,
  mailWords,
  openedMails,
  type ShownMails,
} from "../report/conversation.js";
import { spaceWords } from "../report/header.js";
import { type SelectionRow, selectionTable } from "../report/selection-table.js";
import { copyMenu, scoreList } from "../report/task-view.js";
import { get, isRunPage, post } from "./api.js";
import { judgmentPanel } from "./judgments.js";
import {
  type Column,
  clipped,
  type Fact,
  factList,
  idLink,
  labelLink,
  mailLinks,
  runTaskLink,
  searchedList,
  shortened,
  statusLine,
  twoLines,
} from "./lists.js";
import { playgroundLink } from "./repeat.js";

type TraceHead = Omit<TraceLineJson, "rating" | "score" | "run_name">;

export interface ToolCallCard {
  readonly element: HTMLElement;
  setResult(result: unknown): void;
}

type ShownMail = Omit<MailJson, "message_id" | "bcc"> & Partial<Pick<MailJson, "bcc">>;

export async function traceView(page: HTMLElement, id: string): Promise<void> {
  const details = await get<TraceDetailsJson>(`/api/traces/${encodeURIComponent(id)}`);
  const { trace, feedback, scores, labels, notes, ...line } = details;
  append(page, [
    h("h2", "Trace"),
    h("p.hint.mono", line.id),
    traceActions(trace, line),
    untrustedText(line.question, "question", "p"),
    untrustedText(line.answer ?? "No answer.", "answer", "p"),
    factList(factsOf(line, trace)),
    isRunPage ? null : judgmentPanel(line.id, { labels, notes }),
    isRunPage ? null : feedbackForm(line.id),
    feedback.length === 0
      ? null
      : h(
          "ul",
          { "aria-label": "Feedback so far" },
          ...feedback.map(({ rating, notes, created_at }) =>
            h("li", `${rating}, ${minuteText(created_at)}: `, untrustedInline(notes ?? "no note")),
          ),
        ),
    h(
      "div.served",
      scores.length > 0 &&
        scoreList(
          scores.map(({ explanation, ...score }) => ({ ...score, reason: explanation ?? "" })),
          null,
        ),
      attackTable(trace.kind === "question" ? attackReport(trace) : null),
      changeTable(changesOf(trace), mailWords(resultsOf(trace))),
      selectionTable(selectionOf(trace)),
    ),
    h("h3", "Conversation"),
    traceSteps(trace),
    h("details", h("summary", "Complete trace as JSON"), untrustedText(JSON.stringify(trace, null, 2), null, "pre")),
  ]);
}

function selectionOf(trace: Trace | ChatTrace): SelectionRow[] {
  const words = mailWords(resultsOf(trace));
  const selection = trace.kind === "question" ? (trace.selection ?? []) : [];
  return selection.map(({ state, message_id, evidence }) => {
    return { state, email: mailLinks([message_id], words), evidence: mailLinks(evidence, words) };
  });
}

/** Links to label the trace and to repeat it in the playground, and a menu that copies its parts. */
function traceActions(trace: Trace | ChatTrace, { id, question, answer }: TraceHead): HTMLElement {
  return h(
    "div.run-actions",
    ...(isRunPage
      ? []
      : [labelLink(trace.kind === "chat" ? "chats" : trace.runId, id), trace.kind !== "suite" && playgroundLink(id)]),
    copyMenu({ question, answer: answer ?? "", traceId: id, command: `art-e show ${id}` }),
  );
}

function factsOf(line: TraceHead, trace: Trace | ChatTrace): Fact[] {
  return [
    ["Agent", line.agent_id],
    ["Model", line.model],
    ...mailboxFacts(trace),
    ["Ending", `${line.ending} after ${turnsText(trace)}, ${duration(line.duration_ms)}`],
    ["Sources", sourcesOf(trace)],
    ["Run", line.run_id === null ? null : idLink("runs", line.run_id)],
    ["Task", trace.kind === "chat" ? null : taskOfRun(trace)],
    ["Retries", retriesText(trace)],
    ...rightAnswer(trace),
    ["Error", trace.error],
  ];
}

/** Links to the cited emails. Suite tasks usually do not ask for them. */
function sourcesOf(trace: Trace | ChatTrace): Fact[1] {
  if (trace.sources.length > 0) return mailLinks(trace.sources, mailWords(resultsOf(trace)));
  return trace.kind === "suite" ? null : "none";
}

/** A link to the task in its run, which shows the gold emails next to the conversation. */
function taskOfRun({ runId, taskId, epoch }: Trace): HTMLElement {
  return h("a", { href: runTaskLink(runId, taskId, epoch) }, `${taskId}${epoch === 1 ? "" : `, epoch ${epoch}`}`);
}

/** Facts about the mailbox of a task or chat. */
export function mailboxFacts(trace: Trace | ChatTrace): Fact[] {
  if (trace.kind === "suite") return [];
  const [inbox, day] =
    trace.kind === "chat" ? [trace.inbox, trace.queryDate] : [trace.task.inbox_address, trace.task.query_date];
  return [
    ["Mailbox", inbox ?? "any"],
    ["Date", day ?? "no cutoff"],
  ];
}

/** The gold answer, or the reason for the grade of a suite task. Chats have neither. */
export function rightAnswer(trace: Trace | ChatTrace): Fact[] {
  if (trace.kind === "chat") return [];
  if (trace.kind === "suite") return [["Grade", trace.grade.reason || null]];
  return trace.task.goal === undefined && trace.task.select === undefined ? [["Gold answer", trace.task.answer]] : [];
}

function retriesText({ turns }: Trace | ChatTrace): string | null {
  const retries = turns.flatMap((turn) => turn.retries);
  const last = retries.at(-1);
  if (last === undefined) return null;
  const waited = duration(retries.reduce((sum, { waitedMs }) => sum + waitedMs, 0));
  return `${retries.length}, after pauses of ${waited} in total; last reason: ${last.reason}`;
}

/** The steps that `isShown` selects, with the styles of a report. Emails can be opened in place. */
export function traceSteps(trace: Trace | ChatTrace, isShown: (step: StepView) => boolean = () => true): HTMLElement {
  const steps = stepsOf(trace).filter(isShown);
  return h("div.served", conversation(steps, new Set(), trace.kind === "suite", servedMails(openedMails(steps))));
}

function servedMails(known: ReadonlyMap<string, MailView>): ShownMails {
  return { known, load: loadMail, card: (mail, badges, isOpen) => mailCard(mail, badges, isOpen, null) };
}

export async function loadMail(messageId: string): Promise<MailView> {
  const view = readToolResult(await get(`/api/mails/${encodeURIComponent(messageId)}`));
  if (view.kind !== "mail") throw new Error("The server did not return an email.");
  return view.mail;
}

/** Returns the results of all tool calls, including those of earlier chats. */
export function resultsOf(trace: Trace | ChatTrace): unknown[] {
  return stepsOf(trace).flatMap(({ calls }) => calls.map(({ result }) => result));
}

/** Maximum chats of a session that are shown again after a reload. */
const MAX_CHATS = 50;

/** Loads the traces of a session's chats, oldest first. Returns an empty list if the session no longer exists. */
export async function loadSessionTraces(sessionId: string): Promise<ChatTrace[]> {
  const { traces } = await get<TracePageJson>(
    `/api/traces?session_id=${encodeURIComponent(sessionId)}&limit=${MAX_CHATS}`,
  );
  const details = await Promise.all(
    traces.map(({ id }) => get<TraceDetailsJson>(`/api/traces/${encodeURIComponent(id)}`)),
  );
  return details.map(({ trace }) => trace as ChatTrace).reverse();
}

/** Yields the events that the server sent during this trace's chat. */
export function* traceToEvents(trace: ChatTrace): Generator<ChatEvent> {
  const callsMade = new Map(trace.toolCalls.map((call) => [call.id, call]));
  let turn = 0;
  // The system prompt, the messages of earlier chats and the question come first.
  for (const message of trace.messages.slice(2 + trace.historyLength)) {
    if (message.role === "assistant") {
      yield* retryEvents(trace.turns[turn++]?.retries);
      if (message.content !== "") yield { type: "text-delta", text: message.content };
      for (const { id, name, arguments: args } of message.toolCalls ?? []) {
        if (!callsMade.has(id)) continue;
        yield { type: "tool-call", toolCallId: id, toolName: name };
        yield { type: "tool-call-args", toolCallId: id, args: JSON.stringify(args) };
      }
    }
    const call = message.role === "tool" ? callsMade.get(message.toolCallId ?? "") : undefined;
    if (call === undefined) continue;
    const isAnswer = call.name === "return_final_answer" && call.error === null;
    if (isAnswer) yield { type: "text-delta", text: trace.answer ?? "" };
    const result = call.error === null ? call.result : { error: call.error };
    yield { type: "tool-result", toolCallId: call.id, result };
  }
  // Failed calls that got no reply count as one turn without a message.
  yield* retryEvents(trace.turns[turn]?.retries);
  if (trace.answer === null) {
    const errorText = trace.error || `No answer: ${spaceWords(trace.ending)}.`;
    yield { type: "error", errorText, errorCategory: trace.ending, retryable: false };
  }
  const { sessionId, traceId, actions, repeats } = trace;
  yield { type: "session-info", sessionId, traceId, ...definedProperties({ actions, repeats }) };
}

function* retryEvents(retries: Turn["retries"] = []): Generator<ChatEvent> {
  for (const { attempt, reason, waitedMs } of retries) yield { type: "retry", attempt, reason, waitMs: waitedMs };
}

export async function traceList(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  await searchedList<TraceLineJson>(page, query, signal, {
    title: "Traces",
    section: "traces",
    fields: TRACE_FIELDS,
    none: [
      "No traces yet. ",
      isRunPage ? null : [h("a", { href: "#chat" }, "Ask an agent"), ", or start"],
      " a run with ",
      h("code", "art-e run"),
      ".",
    ],
    async load(query, next) {
      const cursor: [string, string][] = next === null ? [] : [["cursor", next]];
      const path = `/api/traces?${new URLSearchParams([...query, ...cursor])}`;
      const { traces, next_cursor, total_count } = await get<TracePageJson>(path);
      return { lines: traces, next: next_cursor, total: total_count };
    },
    search: "Search traces",
    columns: TRACE_COLUMNS,
  });
}

const TRACE_COLUMNS: readonly Column<TraceLineJson>[] = [
  { title: "Started", sort: "started", cell: ({ id, started_at }) => idLink("trace", id, minuteText(started_at)) },
  { title: "Agent", sort: "agent", cell: ({ agent_id }) => shortened(agent_id) },
  { title: "Run, task", sort: "run", cell: runAndTask },
  { title: "Question", sort: "question", cell: ({ question }) => clipped(question), narrow: "new line" },
  { title: "Answer", sort: "answer", cell: ({ answer }) => clipped(answer ?? "–"), narrow: "new line" },
  { title: "Score", sort: "score", cell: scoreCell, isNumeric: true, narrow: "new line" },
  { title: "Ending", sort: "ending", cell: ({ ending }) => spaceWords(ending) },
  { title: "Took", sort: "took", cell: ({ duration_ms }) => duration(duration_ms), isNumeric: true },
  { title: "Rated", sort: "rating", cell: ({ rating }) => rating },
];

function runAndTask({ run_id, run_name, task_id }: TraceLineJson): Child {
  if (run_id === null) return "chat";
  return twoLines(idLink("runs", run_id, run_name ?? run_id), `task ${String(task_id).slice(0, 8)}`);
}

function scoreCell({ score }: TraceLineJson): Child {
  return score === null ? "–" : h("span", { title: score.label }, scoreText(score.value));
}

/** A tool call with its arguments, and its result as soon as it is known. */
export function toolCallCard(name: string, args: unknown): ToolCallCard {
  const element = h("div.served");
  const show = (result: unknown, error: string | null) => {
    const call = { name, arguments: args, result, error, durationMs: null };
    replaceChildren(element, callItem(call, new Set(), servedMails(new Map())));
  };
  show(undefined, null);
  // Null as a result would mean that the call was not executed.
  return { element, setResult: (result) => show(result ?? "null", errorOf(result)) };
}

function errorOf(result: unknown): string | null {
  const { error } = (result ?? {}) as { readonly error?: unknown };
  return typeof error === "string" ? error : null;
}

/** Shows an email, with the spans of its subject and body marked. */
export function mailArticle(mail: ShownMail, subjectSpans: readonly TextSpan[], bodySpans: readonly TextSpan[]) {
  const { subject, sender, to, cc, bcc = [], date, body } = mail;
  const addresses = (list: readonly string[]) => (list.length === 0 ? null : addressList(list));
  return h(
    "article.mail",
    highlightedText(subject || "(no subject)", subjectSpans, null, "h3"),
    factList([
      ["From", sender || null],
      ["To", addresses(to)],
      ["Cc", addresses(cc)],
      ["Bcc", addresses(bcc)],
      ["Date", minuteText(date)],
    ]),
    highlightedText(body, bodySpans, "body", "pre"),
  );
}

export { spaceWords as endingText };

/** Two thumb buttons and a note for a trace. */
export function feedbackForm(traceId: string): HTMLElement {
  const status = statusLine();
  const note = h("input", {
    type: "text",
    "aria-label": "Note about your feedback",
    placeholder: "Note (optional)",
    maxlength: 10_000,
  });
  const thumbs = {
    positive: thumbButton("Good answer", true, () => send("positive")),
    negative: thumbButton("Bad answer", false, () => send("negative")),
  };
  async function send(rating: "positive" | "negative"): Promise<void> {
    try {
      await post("/api/feedback", { trace_id: traceId, rating, notes: note.value.trim() || null });
      for (const [name, button] of Object.entries(thumbs)) button.setAttribute("aria-pressed", String(name === rating));
      status.say("Thank you. Your feedback is saved with the trace.");
    } catch (error) {
      status.say((error as Error).message);
    }
  }
  const { positive, negative } = thumbs;
  return h("div.feedback", { role: "group", "aria-label": "Feedback" }, positive, negative, note, status.element);
}

function thumbButton(label: string, isUp: boolean, click: () => void): HTMLElement {
  const attributes = { type: "button", class: "thumb", "aria-label": label, title: label, "aria-pressed": "false" };
  // Drawn as SVG, because not every system has a font with this character.
  const thumb = svg("path", {
    d: "M2 10h4v11H2zm6 0 5-8c1.6 0 2.6 1.2 2.3 2.8L14.6 9H20c1.3 0 2.3 1.2 2 2.5l-1.7 7.6A2.5 2.5 0 0 1 17.9 21H8z",
    fill: "currentColor",
    transform: isUp ? "" : "rotate(180 12 12)",
  });
  const icon = svg("svg", { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true" }, thumb);
  return h("button", { ...attributes, click }, icon);
}
