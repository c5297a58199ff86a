import type { JsonValue } from "../../domain/json.js";
import { repliesBy } from "../../domain/models/answered-by.js";
import type { Message } from "../../domain/models/conversation.js";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { timesOf } from "../../domain/runs/task-times.js";
import type { Trace } from "../../domain/runs/trace.js";
import type { Judgement } from "../../domain/scores/judgement.js";
import { otherModels } from "../../models/answering-model.js";
import { stripControls } from "../../platform/strip-controls.js";
import { readToolResult } from "../html/tool-results.js";
import { count, duration, share } from "./format-number.js";

/** Characters of one message shown; the whole stands in the exported trace. */
const MAX_MESSAGE_CHARS = 1_500;

/** Recipients of a mail told by name. */
const MAX_RECIPIENTS = 6;

/** A trace to be read in a terminal: the question, what was said and called, the answer beside the gold one. */
export function traceText(trace: Trace | ChatTrace): string {
  const isChat = !("task" in trace);
  const who = `${trace.traceId}  ${trace.agentId} (${trace.model})`;
  const head = isChat
    ? [
        `${who}  session ${trace.sessionId}`,
        `chat  ${trace.inbox ?? "any mailbox"}  ${trace.queryDate ?? "no cutoff"}`,
        "",
        `Question: ${trace.question}`,
      ]
    : [
        `${who}  run ${trace.runId}`,
        `task ${trace.taskId}  ${trace.task.inbox_address}  ${trace.task.query_date}`,
        "",
        `Question: ${trace.task.question}`,
      ];
  const scores = Object.entries(trace.scores).map(([name, score]) => `${name} ${share(score.value)}`);
  const foot = [
    "",
    `Ending:   ${trace.ending} after ${trace.turns.length} turns, ${duration(trace.durationMs)}`,
    `Time:     ${timeText(trace)}`,
    ...(trace.error === null ? [] : [`Error:    ${trace.error}`]),
    ...answeredBy(trace),
    `Answer:   ${trace.answer ?? "-"}`,
    `Sources:  ${trace.sources.join(", ") || "-"}`,
    ...(isChat
      ? []
      : [
          `Gold:     ${trace.task.answer}`,
          `Mails:    ${trace.task.message_ids.join(", ") || "-"}`,
          ...(trace.judge === null ? [] : [`Judge:    ${judgeText(trace.judge)}`]),
          `Scores:   ${scores.join(", ") || "none: a failed task is not graded"}`,
        ]),
  ];
  return stripControls([...head, ...trace.messages.flatMap(messageLines), ...foot].join("\n"));
}

/** Said only where it is not the model that was asked. */
function answeredBy({ model, turns }: Pick<Trace, "model" | "turns">): string[] {
  const others = otherModels(model, repliesBy(turns));
  return others.length === 0 ? [] : [`By:       ${others.join(", ")}, as the replies say; ${model} was asked`];
}

function timeText(trace: Trace | ChatTrace): string {
  const { modelTimeMs, toolTimeMs, waitingTimeMs } = timesOf(trace);
  return `model ${duration(modelTimeMs)}, tools ${duration(toolTimeMs)}, waiting ${duration(waitingTimeMs)}`;
}

function judgeText({ verdict, reason, model, cast, agreement }: Judgement): string {
  const votes = cast.length < 2 ? "" : `, ${cast.length} votes, agreement ${share(agreement)}`;
  return `${verdict ?? "no verdict"}: ${reason} (${model}${votes})`;
}

function messageLines(message: Message): string[] {
  const said = message.content === "" ? [] : indent(shorten(message.content));
  if (message.role === "tool") {
    const told = message.isError ? said : indent(resultText(message.content));
    return ["", `[${message.name}${message.isError ? ", error" : ""}]`, ...told];
  }
  const calls =
    message.role === "assistant"
      ? message.toolCalls.map((call) => `  -> ${call.name}(${call.invalid ?? argumentText(call.arguments)})`)
      : [];
  return ["", `[${message.role}]`, ...said, ...calls];
}

/** `query: "gas", limit: 10` */
function argumentText(given: JsonValue): string {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return JSON.stringify(given);
  return Object.entries(given)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(", ");
}

/** What a tool gave back: search results as a list, a mail as a mail, anything else as it came. */
function resultText(content: string): string {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    return shorten(content);
  }
  const view = readToolResult(value);
  if (view.kind === "hits") {
    const of = view.total === null || view.total <= view.hits.length ? "" : ` of ${count(view.total)}`;
    const hits = view.hits.flatMap(({ messageId, date, sender, subject, snippet }) => [
      [date?.slice(0, 10), sender, subject].filter((part) => (part ?? "") !== "").join("  ") || messageId,
      ...(subject === null ? [] : [`  ${messageId}`]),
      ...(snippet === "" ? [] : [`  ${snippet.replace(/\s+/g, " ")}`]),
    ]);
    return [`${count(view.hits.length)}${of} mails`, ...hits].join("\n");
  }
  if (view.kind === "mail") {
    const { messageId, date, sender, recipients, subject, body } = view.mail;
    const to = recipients.slice(0, MAX_RECIPIENTS).join(", ");
    const more = recipients.length > MAX_RECIPIENTS ? ` and ${count(recipients.length - MAX_RECIPIENTS)} more` : "";
    return [
      messageId,
      `${date ?? "no date"}  ${sender} to ${to || "nobody named"}${more}`,
      subject,
      "",
      shorten(body),
    ].join("\n");
  }
  return shorten(content);
}

function indent(text: string): string[] {
  return text.split("\n").map((line) => `  ${line}`);
}

function shorten(text: string): string {
  return text.length <= MAX_MESSAGE_CHARS ? text : `${text.slice(0, MAX_MESSAGE_CHARS)}\n… (${text.length - MAX_MESSAGE_CHARS} characters more)`;
}
