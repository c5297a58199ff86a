import type { Message } from "../domain/conversation.js";
import type { Trace } from "../domain/trace.js";
import { duration, share } from "./figures.js";
import { printable } from "./printable.js";

/** Characters of one message shown; the whole stands in the exported trace. */
const SHOWN = 1_500;

/** A trace to be read in a terminal: the question, what was said and called, the answer beside the gold one. */
export function traceText(trace: Trace): string {
  const { task } = trace;
  const head = [
    `${trace.traceId}  ${trace.agentId} (${trace.model})  run ${trace.runId}`,
    `task ${trace.taskId}  ${task.inbox_address}  ${task.query_date}`,
    "",
    `Question: ${task.question}`,
  ];
  const scores = Object.entries(trace.scores).map(([name, score]) => `${name} ${share(score.value)}`);
  const foot = [
    "",
    `Ending:   ${trace.ending} after ${trace.turns.length} turns, ${duration(trace.durationMs)}`,
    ...(trace.error === null ? [] : [`Error:    ${trace.error}`]),
    `Answer:   ${trace.answer ?? "-"}`,
    `Sources:  ${trace.sources.join(", ") || "-"}`,
    `Gold:     ${task.answer}`,
    `Mails:    ${task.message_ids.join(", ") || "-"}`,
    `Scores:   ${scores.join(", ") || "none: a failed task is not graded"}`,
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
