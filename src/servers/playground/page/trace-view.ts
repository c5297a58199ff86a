import { append, h, untrustedText } from "../../../reports/page/shared/dom.js";
import { minuteText } from "../../../reports/page/shared/format.js";
import { duration } from "../../../reports/text/format-number.js";
import type { ChatTraceJson, TraceDetailsJson, TraceJson, TraceLineJson } from "./api-types.js";
import { feedbackForm } from "./feedback-form.js";
import { isRunPage } from "./page-sections.js";
import { get } from "./request.js";
import { factList, idLink, mailLinks } from "./tables.js";
import { toolCallCard } from "./tool-call-card.js";

export async function traceView(page: HTMLElement, id: string): Promise<void> {
  const details = await get<TraceDetailsJson>(`/api/traces/${encodeURIComponent(id)}`);
  const { trace, feedback, ...line } = details;
  append(page, [
    h("h2", {}, "Trace"),
    h("p", { class: "hint mono" }, line.id),
    untrustedText(line.question, "question", "p"),
    untrustedText(line.answer ?? "No answer.", "answer", "p"),
    factList(factsOf(line, trace)),
    isRunPage ? null : feedbackForm(line.id),
    feedback.length === 0
      ? null
      : h(
          "ul",
          { "aria-label": "Feedback so far" },
          ...feedback.map(({ rating, notes, created_at }) =>
            h("li", {}, `${rating}, ${minuteText(created_at)}: `, untrustedText(notes ?? "no note", "", "span")),
          ),
        ),
    h("h3", {}, "What was said and done"),
    h("div", { class: "steps" }, ...messageSections(trace)),
    h("details", {}, h("summary", {}, "All of it as JSON"), untrustedText(JSON.stringify(trace, null, 2), "", "pre")),
  ]);
}

function factsOf(line: TraceLineJson, trace: TraceJson): [string, string | Node][] {
  return [
    ["Agent", line.agent_id],
    ["Model", line.model],
    ...mailboxFacts(trace),
    ["Ending", `${line.ending} after ${trace.turns.length} turns, ${duration(line.duration_ms)}`],
    ["Sources", trace.sources.length === 0 ? "none" : mailLinks(trace.sources)],
    ...(line.run_id === null ? [] : [["Run", idLink("runs", line.run_id)] as [string, Node]]),
    ...retryFacts(trace),
    ...(trace.task?.answer === undefined ? [] : [["Right answer", trace.task.answer] as [string, string]]),
    ...Object.entries(trace.scores).map(([name, { value }]): [string, string] => [name, String(value ?? "–")]),
    ...(trace.error === null ? [] : [["Error", trace.error] as [string, string]]),
  ];
}

/** Of the task, or of the chat. */
export function mailboxFacts(trace: TraceJson): [string, string][] {
  const { inbox, queryDate } = trace as ChatTraceJson;
  return [
    ["Mailbox", trace.task?.inbox_address ?? inbox ?? "any"],
    ["Day", trace.task?.query_date ?? queryDate ?? "no cutoff"],
  ];
}

function retryFacts({ turns }: TraceJson): [string, string][] {
  const retries = turns.flatMap((turn) => turn.retries);
  const [last] = retries.slice(-1);
  if (last === undefined) return [];
  const waited = duration(retries.reduce((sum, { waitedMs }) => sum + waitedMs, 0));
  return [
    ["Calls made again", `${retries.length}, after pauses of ${waited} in all; the last because of: ${last.reason}`],
  ];
}

/** What was said, and each tool call with its result. */
export function messageSections(trace: TraceJson): HTMLElement[] {
  return trace.messages.flatMap(({ role, content, toolCalls = [] }) => {
    if (role === "tool") return [];
    const label = h("div", { class: "hint" }, role);
    const text = content === "" ? null : untrustedText(content, "said", "pre");
    const cards = toolCalls.map(({ id, name, arguments: args }) => {
      const card = toolCallCard(name, args);
      card.setResult(resultOf(trace, id));
      card.element.open = false;
      return card.element;
    });
    return [h("section", { class: `said-by ${role}` }, label, text, ...cards)];
  });
}

function resultOf({ toolCalls }: TraceJson, callId: string): unknown {
  const call = toolCalls.find(({ id }) => id === callId);
  if (call === undefined) return { error: "not called" };
  return call.error === null ? call.result : { error: call.error };
}
