import { ask, post } from "./api.js";
import { duration, el, outside, table, thumb, when } from "./dom.js";
import { callCard } from "./steps.js";

/** Thumbs and a note, for one trace. */
export function feedbackForm(traceId) {
  const said = el("p", { class: "hint", role: "status" });
  const note = el("input", {
    type: "text",
    "aria-label": "Note to your feedback",
    placeholder: "Note (optional)",
    maxlength: 10000,
  });
  const buttons = [
    ["positive", true, "Good answer"],
    ["negative", false, "Bad answer"],
  ].map(([rating, isUp, label]) =>
    el(
      "button",
      {
        type: "button",
        class: "thumb",
        "aria-label": label,
        title: label,
        "aria-pressed": "false",
        onclick: () => give(rating),
      },
      thumb(isUp),
    ),
  );
  async function give(rating) {
    try {
      await post("/api/feedback", { trace_id: traceId, rating, notes: note.value.trim() || null });
      for (const [i, button] of buttons.entries())
        button.setAttribute("aria-pressed", String((i === 0) === (rating === "positive")));
      said.textContent = "Thank you: it is kept with the trace.";
    } catch (error) {
      said.textContent = error.message;
    }
  }
  return el("div", { class: "feedback", role: "group", "aria-label": "Feedback" }, buttons, note, said);
}

export async function traceList(page) {
  const query = new URLSearchParams({ limit: "50" });
  const rows = [];
  const body = el("div");
  const more = el("button", { type: "button", onclick: () => load() }, "Show more");
  async function load() {
    const { traces, next_cursor, has_more, total_count } = await ask(`/api/traces?${query}`);
    rows.push(...traces);
    if (next_cursor !== null) query.set("cursor", next_cursor);
    const shown = table(
      "Traces",
      ["Started", "Agent", "Question", "Answer", "Ending", "Took", "Rated"],
      rows.map((trace) => [
        el("a", { href: `#trace/${encodeURIComponent(trace.id)}` }, when(trace.started_at)),
        trace.agent_id,
        outside("span", trace.question, "clip"),
        outside("span", trace.answer ?? "–", "clip"),
        trace.ending,
        duration(trace.duration_ms),
        trace.rating ?? "",
      ]),
    );
    body.replaceChildren(
      el("p", { class: "hint" }, `${rows.length} of ${total_count}`),
      rows.length === 0 ? nothing() : shown,
    );
    more.hidden = !has_more;
  }
  await load();
  page.append(el("h2", {}, "Traces"), body, more);
}

function nothing() {
  return el("p", { class: "notice" }, "Nothing yet: ask an agent, or let one run with art-e run.");
}

export async function traceView(page, id) {
  const { trace, feedback, ...head } = await ask(`/api/traces/${encodeURIComponent(id)}`);
  const asked = trace.task ?? { inbox_address: trace.inbox, query_date: trace.queryDate };
  const facts = [
    ["Agent", head.agent_id],
    ["Model", head.model],
    ["Mailbox", asked.inbox_address ?? "any"],
    ["Day", asked.query_date ?? "no cutoff"],
    ["Ending", `${head.ending} after ${trace.turns.length} turns, ${duration(head.duration_ms)}`],
    ["Sources", trace.sources.join(", ") || "none"],
    ...(trace.task ? [["Right answer", trace.task.answer]] : []),
    ...Object.entries(trace.scores).map(([name, { value }]) => [name, String(value ?? "–")]),
    ...(trace.error === null ? [] : [["Error", trace.error]]),
  ];
  page.append(
    el("h2", {}, "Trace"),
    el("p", { class: "hint mono" }, head.id),
    outside("p", head.question, "question"),
    outside("p", head.answer ?? "No answer.", "answer"),
    el(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => [el("dt", {}, name), outside("dd", value)]),
    ),
    feedbackForm(head.id),
    feedback.length === 0
      ? null
      : el(
          "ul",
          { "aria-label": "Feedback so far" },
          feedback.map((one) =>
            el("li", {}, `${one.rating}, ${when(one.created_at)}: `, outside("span", one.notes ?? "no note")),
          ),
        ),
    el("h3", {}, "What was said and done"),
    el("div", { class: "steps" }, saidAndDone(trace)),
    el("details", {}, el("summary", {}, "All of it as JSON"), outside("pre", JSON.stringify(trace, null, 2))),
  );
}

function saidAndDone(trace) {
  return trace.messages.flatMap((message) => {
    if (message.role === "tool") return [];
    const label = el("div", { class: "hint" }, message.role);
    const text = message.content === "" ? null : outside("pre", message.content, "said");
    const calls = (message.toolCalls ?? []).map((call) => {
      const card = callCard(call.name, call.arguments);
      const made = trace.toolCalls.find((one) => one.id === call.id);
      card.setResult(
        made === undefined ? { error: "not called" } : made.error === null ? made.result : { error: made.error },
      );
      card.element.open = false;
      return card.element;
    });
    return [el("section", { class: `said-by ${message.role}` }, label, text, calls)];
  });
}
