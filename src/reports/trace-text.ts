import type { ChatTrace } from "../domain/chat.js";
import type { Message } from "../domain/conversation.js";
import type { Trace } from "../domain/trace.js";
import { duration, share } from "./figures.js";

/** Characters of one message shown; the whole stands in the exported trace. */
const SHOWN = 1_500;

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
    ...(trace.error === null ? [] : [`Error:    ${trace.error}`]),
    `Answer:   ${trace.answer ?? "-"}`,
    `Sources:  ${trace.sources.join(", ") || "-"}`,
    ...(isChat
      ? []
      : [
          `Gold:     ${trace.task.answer}`,
          `Mails:    ${trace.task.message_ids.join(", ") || "-"}`,
          `Scores:   ${scores.join(", ") || "none: a failed task is not graded"}`,
        ]),
  ];
  return printable([...head, ...trace.messages.flatMap(messageLines), ...foot].join("\n"));
}

function messageLines(message: Message): string[] {
  const said = message.content === "" ? [] : indent(shorten(message.content));
  if (message.role === "tool") {
    return ["", `[${message.name}${message.isError ? ", error" : ""}]`, ...said];
  }
  const calls =
    message.role === "assistant"
      ? message.toolCalls.map((call) => `  -> ${call.name}(${call.invalid ?? JSON.stringify(call.arguments)})`)
      : [];
  return ["", `[${message.role}]`, ...said, ...calls];
}

function indent(text: string): string[] {
  return text.split("\n").map((line) => `  ${line}`);
}

function shorten(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}\n… (${text.length - SHOWN} characters more)`;
}

/** Control characters and bidi marks of mail could steer the terminal; they show as a picture of themselves. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}]/gu, (control) =>
    control.charCodeAt(0) < 0x20 ? String.fromCharCode(0x2400 + control.charCodeAt(0)) : "\ufffd",
  );
}
