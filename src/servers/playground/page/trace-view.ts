import { append, h, replaceChildren, untrustedText } from "../../../reports/page/shared/dom.js";
import { minuteText } from "../../../reports/page/shared/format.js";
import { duration } from "../../../reports/text/format-number.js";
import type { ChatTraceJson, TraceDetailsJson, TraceJson, TraceLineJson, TracePageJson } from "./api-types.js";
import { feedbackForm } from "./feedback-form.js";
import { get } from "./request.js";
import { factList, idLink, table } from "./tables.js";
import { toolCallCard } from "./tool-call-card.js";

export async function traceList(page: HTMLElement): Promise<void> {
  const query = new URLSearchParams({ limit: "50" });
  const lines: TraceLineJson[] = [];
  const body = h("div");
  const more = h("button", { type: "button", click: () => loadPage() }, "Show more");
  async function loadPage(): Promise<void> {
    const { traces, next_cursor, has_more, total_count } = await get<TracePageJson>(`/api/traces?${query}`);
    lines.push(...traces);
    if (next_cursor !== null) query.set("cursor", next_cursor);
    replaceChildren(
      body,
      h("p", { class: "hint" }, `${lines.length} of ${total_count}`),
      lines.length === 0
        ? h("p", { class: "notice" }, "Nothing yet: ask an agent, or let one run with art-e run.")
        : traceTable(lines),
    );
    more.hidden = !has_more;
  }
  await loadPage();
  page.append(h("h2", {}, "Traces"), body, more);
}

function traceTable(lines: readonly TraceLineJson[]): HTMLElement {
  return table(
    "Traces",
    ["Started", "Agent", "Question", "Answer", "Ending", "Took", "Rated"],
    lines.map((line) => [
      idLink("trace", line.id, minuteText(line.started_at)),
      line.agent_id,
      untrustedText(line.question, "clip", "span"),
      untrustedText(line.answer ?? "–", "clip", "span"),
      line.ending,
      duration(line.duration_ms),
      line.rating,
    ]),
  );
}

export async function traceView(page: HTMLElement, id: string): Promise<void> {
  const details = await get<TraceDetailsJson>(`/api/traces/${encodeURIComponent(id)}`);
  const { trace, feedback, ...line } = details;
  append(page, [
    h("h2", {}, "Trace"),
    h("p", { class: "hint mono" }, line.id),
    untrustedText(line.question, "question", "p"),
    untrustedText(line.answer ?? "No answer.", "answer", "p"),
    factList(factsOf(line, trace)),
    feedbackForm(line.id),
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

function factsOf(line: TraceLineJson, trace: TraceJson): [string, string][] {
  const { inbox, queryDate } = trace as ChatTraceJson;
  return [
    ["Agent", line.agent_id],
    ["Model", line.model],
    ["Mailbox", trace.task?.inbox_address ?? inbox ?? "any"],
    ["Day", trace.task?.query_date ?? queryDate ?? "no cutoff"],
    ["Ending", `${line.ending} after ${trace.turns.length} turns, ${duration(line.duration_ms)}`],
    ["Sources", trace.sources.join(", ") || "none"],
    ...(trace.task?.answer === undefined ? [] : [["Right answer", trace.task.answer] as [string, string]]),
    ...Object.entries(trace.scores).map(([name, { value }]): [string, string] => [name, String(value ?? "–")]),
    ...(trace.error === null ? [] : [["Error", trace.error] as [string, string]]),
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
