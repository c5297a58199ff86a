// Converts a trace into what the page shows: steps with their tool results in a known shape.
import { attackReport } from "../attacks/obedience.js";
import type { Message, ToolMessage } from "../models/model.js";
import { groupBy } from "../platform/group-by.js";
import { compact } from "../platform/optional-values.js";
import { changesOf } from "../scoring/goal-match.js";
import type { SameMail } from "../scoring/scorer-entry.js";
import { goldEmailsOf, questionOf } from "../tasks/question.js";
import { type EarlierCall, earlierCalls } from "../traces/earlier-calls.js";
import { type TimelineSegment, timelineOf } from "../traces/timeline.js";
import type { ChatTrace, QuestionTrace, ToolCallRecord, Trace, Turn } from "../traces/trace.js";
import type {
  CallView,
  GoldMailView,
  MailView,
  SelectedEmailView,
  StepView,
  TraceView,
  TurnView,
} from "./report-data.js";

/** Looks up gold emails. */
export interface MailSource {
  readonly mailOf: (messageId: string) => MailView | null;
  readonly sameMail: SameMail;
}

/** The result of a tool that works in a task's machine. The shape determines its kind, because tool names vary. */
export type MachineResultView =
  | {
      readonly kind: "command";
      readonly stdout: string;
      readonly stderr: string;
      /** Exit code, or null if the command was stopped. */
      readonly exitCode: number | null;
      /** The reason why it was stopped. */
      readonly stopped: string | null;
    }
  | {
      readonly kind: "file";
      readonly path: string;
      readonly content: string;
      readonly firstLine: number;
      readonly lastLine: number;
      readonly totalLines: number;
    }
  | {
      readonly kind: "notebook";
      readonly path: string;
      readonly outputs: readonly NotebookOutput[];
      readonly stopped: string | null;
    };

interface NotebookOutput {
  readonly cell: number;
  readonly text: string;
  readonly error: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** A tool result. The shape determines its kind, as in scoring, because tool names vary. */
export type ToolResultView =
  | { readonly kind: "hits"; readonly hits: readonly Hit[]; readonly total: number | null }
  | { readonly kind: "mail"; readonly mail: MailView }
  | { readonly kind: "other"; readonly value: unknown };

/** An email in a list of search results. */
export interface Hit {
  readonly messageId: string;
  readonly subject: string | null;
  readonly sender: string | null;
  readonly date: string | null;
  readonly snippet: string;
}

/** Converts a trace for the page: each call with its result, and the gold emails. */
export function traceView(trace: Trace, { mailOf, sameMail }: MailSource): TraceView {
  const question = questionOf(trace);
  const message_ids = question === null ? [] : goldEmailsOf(question);
  const canonicalGold = new Set(message_ids.map(sameMail));
  const { listed, opened } = idsIn(trace);
  const allIds = new Set([...trace.sources, ...listed, ...opened, ...message_ids]);
  const isAmong = (ids: readonly string[], gold: string) => ids.some((id) => sameMail(id) === sameMail(gold));
  const gold = message_ids.flatMap((id): GoldMailView[] => {
    const mail = mailOf(id);
    if (mail === null) return [];
    const reached = isAmong(opened, id) ? "read" : isAmong(listed, id) ? "found" : "missed";
    return [{ ...mail, reached, cited: isAmong(trace.sources, id) }];
  });
  return {
    traceId: trace.traceId,
    timeline: timelineOf(trace).map(roundOff),
    steps: stepsOf(trace),
    sources: trace.sources,
    changes: changesOf(trace),
    selection: trace.kind === "question" ? selectionView(trace, mailOf) : [],
    attack: trace.kind === "question" ? attackReport(trace) : null,
    gold,
    goldMissing: message_ids.filter((id) => mailOf(id) === null),
    goldIds: [...allIds].filter((id) => canonicalGold.has(sameMail(id))),
    scores: trace.scores,
    judge: trace.judge === null ? null : { verdict: trace.judge.verdict ?? "unscored", reason: trace.judge.reason },
    left: trace.kind === "suite" ? (trace.left ?? { pictures: [], omitted: 0 }) : null,
  };
}

function selectionView({ selection = [] }: QuestionTrace, mailOf: MailSource["mailOf"]): SelectedEmailView[] {
  const wordsOf = (id: string) => {
    const mail = mailOf(id);
    return mail === null
      ? id
      : compact([mail.subject || "(no subject)", mail.sender, mail.date?.slice(0, 10)]).join(", ");
  };
  return selection.map(({ state, message_id, evidence }) => {
    return { state, email: wordsOf(message_id), evidence: evidence.map(wordsOf) };
  });
}

/** Rounds to 0.1 ms. */
function roundOff(segment: TimelineSegment): TimelineSegment {
  const tenth = (ms: number) => Math.round(ms * 10) / 10;
  return { ...segment, startMs: tenth(segment.startMs), durationMs: tenth(segment.durationMs) };
}

/** Returns the Message-IDs of the emails that searches listed and that the agent opened. */
function idsIn({ toolCalls }: Trace): { listed: string[]; opened: string[] } {
  const views = toolCalls.map(({ result }) => readToolResult(result));
  return {
    listed: views.flatMap((view) => (view.kind === "hits" ? view.hits.map(({ messageId }) => messageId) : [])),
    opened: views.flatMap((view) => (view.kind === "mail" ? [view.mail.messageId] : [])),
  };
}

/** Shows tool results with their calls. A tool message is a separate step only if its call is unknown. */
export function stepsOf(trace: Trace | ChatTrace): StepView[] {
  const { messages, toolCalls, turns } = trace;
  const isChat = trace.kind === "chat";
  // The replies of earlier chats have no turns in this trace.
  const firstOwn = isChat ? 1 + trace.historyLength : 0;
  // Some servers restart call ids in every turn, so an id can occur again.
  const calls: readonly RecordedCall[] = [...(isChat ? earlierCalls(trace) : []), ...toolCalls];
  const records = groupBy(calls, ({ id }) => id);
  const answers = groupBy(messages.filter(isToolMessage), ({ toolCallId }) => toolCallId);
  const calledIds = new Set(messages.flatMap((message) => callsOf(message).map(({ id }) => id)));
  const steps: StepView[] = [];
  let turn = 0;
  for (const [i, message] of messages.entries()) {
    if (message.role === "tool" && calledIds.has(message.toolCallId)) continue;
    const views = callsOf(message).map(({ id, name, invalid, arguments: callArguments }): CallView => {
      const answer = answerTo(records.get(id)?.shift(), answers.get(id)?.shift());
      return { name, arguments: invalid ?? callArguments, ...answer };
    });
    const model = message.role === "assistant" && i >= firstOwn ? toTurn(turns[turn++]) : null;
    steps.push({ role: message.role, text: message.content, calls: views, turn: model });
  }
  return steps;
}

function isToolMessage(message: Message): message is ToolMessage {
  return message.role === "tool";
}

function callsOf(message: Message) {
  return message.role === "assistant" ? message.toolCalls : [];
}

type RecordedCall = EarlierCall & Partial<Pick<ToolCallRecord, "durationMs">>;

/** Some agents execute only the first call of a reply. The others have neither a result nor an error. */
function answerTo(record: RecordedCall | undefined, message: ToolMessage | undefined) {
  if (record !== undefined) {
    const { result, error, durationMs = null } = record;
    return { result, error, durationMs };
  }
  const { content = null, isError = false } = message ?? {};
  return { result: isError ? null : content, error: isError ? content : null, durationMs: null };
}

function toTurn(turn: Turn | undefined): TurnView | null {
  if (turn === undefined) return null;
  const { latencyMs, waitedMs = 0, usage, costUsd, finishReason, retries } = turn;
  const tokens = usage === null ? null : { input: usage.inputTokens, output: usage.outputTokens };
  const ms = { latencyMs: Math.round(latencyMs), waitedMs: Math.round(waitedMs) };
  return { ...ms, tokens, costUsd, finishReason, retries: retries.length };
}

/** Returns null for the result of another tool. */
export function readMachineResult(value: unknown): MachineResultView | null {
  if (!isRecord(value)) return null;
  return readCommand(value) ?? readFile(value) ?? readNotebook(value);
}

function readCommand({ stdout, stderr, exit_code, stopped }: Fields): MachineResultView | null {
  if (typeof stdout !== "string" || typeof stderr !== "string") return null;
  if (exit_code !== null && typeof exit_code !== "number") return null;
  return { kind: "command", stdout, stderr, exitCode: exit_code, stopped: valueText(stopped) };
}

function readFile({ path, content, first_line, last_line, total_lines }: Fields): MachineResultView | null {
  if (typeof path !== "string" || typeof content !== "string") return null;
  if (typeof first_line !== "number" || typeof last_line !== "number" || typeof total_lines !== "number") return null;
  return { kind: "file", path, content, firstLine: first_line, lastLine: last_line, totalLines: total_lines };
}

function readNotebook({ path, outputs, stopped }: Fields): MachineResultView | null {
  if (typeof path !== "string" || !Array.isArray(outputs)) return null;
  const read = outputs.flatMap((output): NotebookOutput[] => {
    if (!isRecord(output) || typeof output.cell !== "number") return [];
    const error = isRecord(output.error) ? `${valueText(output.error.name)}: ${valueText(output.error.message)}` : null;
    return [{ cell: output.cell, text: valueText(output.text) ?? "", error }];
  });
  return { kind: "notebook", path, outputs: read, stopped: valueText(stopped) };
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function valueText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

export function readToolResult(value: unknown): ToolResultView {
  const list = Array.isArray(value) ? value : isRecord(value) ? value.emails : undefined;
  if (Array.isArray(list) && list.every((item) => isRecord(item) && typeof item.message_id === "string")) {
    return {
      kind: "hits",
      hits: list.map(toHit),
      total: isRecord(value) && typeof value.total === "number" ? value.total : null,
    };
  }
  if (isRecord(value) && typeof value.message_id === "string" && typeof value.body === "string") {
    const recipients = [value.to, value.cc, value.bcc].flatMap((each) => (Array.isArray(each) ? each.map(String) : []));
    return {
      kind: "mail",
      mail: {
        messageId: value.message_id,
        subject: valueText(value.subject) ?? "",
        sender: valueText(value.sender) ?? "",
        recipients,
        date: valueText(value.date),
        body: value.body,
      },
    };
  }
  return { kind: "other", value };
}

function toHit(item: Fields): Hit {
  return {
    messageId: String(item.message_id),
    subject: valueText(item.subject),
    sender: valueText(item.sender),
    date: valueText(item.date),
    snippet: valueText(item.snippet) ?? "",
  };
}
