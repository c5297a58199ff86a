import { ask, chatEvents } from "./api.js";
import { el, outside } from "./dom.js";
import { keep, kept } from "./kept-chat.js";
import { eventsOf, tracesOf } from "./replay.js";
import { callCard } from "./steps.js";
import { feedbackForm } from "./trace.js";

/** What was said, while the page stays. */
let conversation = null;

export async function chatView(page, agentId) {
  const [{ agents }, { inboxes, first_date, last_date }, { models, default_model }] = await Promise.all([
    ask("/api/agents"),
    ask("/api/inboxes"),
    ask("/api/models"),
  ]);
  const agent = el(
    "select",
    { id: "agent" },
    agents.map(({ id, name }) => el("option", { value: id }, name)),
  );
  const inbox = el("input", {
    id: "inbox",
    list: "inboxes",
    placeholder: "any mailbox",
    autocomplete: "off",
    spellcheck: "false",
  });
  const day = el("input", { id: "day", type: "date", min: first_date?.slice(0, 10), max: last_date?.slice(0, 10) });
  const model = el("input", { id: "model", list: "models", autocomplete: "off", spellcheck: "false" });
  const question = el("textarea", {
    id: "question",
    rows: 2,
    placeholder: "Ask a question about the mail",
    required: true,
  });
  const send = el("button", { class: "primary", type: "submit" }, "Ask");
  const stop = el("button", { type: "button", hidden: true }, "Stop");
  const fresh = el("button", { type: "button", title: "Forget what was said, and begin a new session" }, "New session");
  const isReload = conversation === null;
  conversation ??= el("div", { class: "log", role: "log", "aria-label": "Conversation" });
  const log = conversation;

  const owner = () => agents.find(({ id }) => id === agent.value);
  const showModel = () => {
    model.placeholder = owner()?.model ?? default_model;
  };
  agent.value = agentId ?? kept.agent ?? (models.length > 1 ? "email-search" : "baseline");
  inbox.value = kept.inbox ?? inboxes[0] ?? "";
  day.value = kept.day;
  model.value = kept.model;
  question.value = kept.draft;
  showModel();

  const startAnew = () => {
    keep({ session: null });
    log.replaceChildren();
  };
  const chosen = () => ({ agent: agent.value, inbox: inbox.value, day: day.value, model: model.value });
  if (kept.session !== null && agent.value !== kept.agent) startAnew();
  if (kept.session !== null && isReload) await showAgain(log);
  // A session is bound to its agent, mailbox and day.
  for (const field of [agent, inbox, day]) {
    field.addEventListener("change", () => {
      showModel();
      if (kept.session !== null) startAnew();
    });
  }
  fresh.addEventListener("click", () => {
    startAnew();
    question.focus();
  });
  for (const field of [agent, inbox, day, model, question]) {
    field.addEventListener("input", () => {
      keep({ ...chosen(), draft: question.value });
    });
  }
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });

  const form = el(
    "form",
    { class: "ask" },
    el(
      "div",
      { class: "choices" },
      labelled("Agent", agent),
      labelled("Mailbox", inbox),
      labelled("Day (no later mail)", day),
      labelled("Model", model),
    ),
    el(
      "datalist",
      { id: "inboxes" },
      inboxes.map((address) => el("option", { value: address })),
    ),
    el(
      "datalist",
      { id: "models" },
      models.map(({ id }) => el("option", { value: id })),
    ),
    el("label", { class: "hidden", for: "question" }, "Question"),
    el("div", { class: "line" }, question, el("div", { class: "buttons" }, send, stop)),
    el("div", { class: "under" }, el("span", { class: "hint" }, "Enter asks, Shift+Enter makes a new line."), fresh),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = question.value.trim();
    if (text === "" || send.disabled) return;
    question.value = "";
    // Until it is answered: a reload would lose it.
    keep({ ...chosen(), draft: text });
    const controller = new AbortController();
    stop.onclick = () => controller.abort();
    send.disabled = true;
    stop.hidden = false;
    await answer(
      log,
      { agent: agent.value, inbox: inbox.value.trim(), day: day.value, model: model.value.trim(), text },
      controller.signal,
    );
    if (kept.draft === text) keep({ draft: question.value });
    send.disabled = false;
    stop.hidden = true;
    if (document.contains(question)) question.focus();
  });
  page.append(el("h2", { class: "hidden" }, "Ask an agent"), form, log);
  question.focus();
}

function labelled(text, field) {
  return el("div", {}, el("label", { for: field.id }, text), field);
}

/** What was said in the session that the page was left in; begins anew where that is gone. */
async function showAgain(log) {
  const traces = await tracesOf(kept.session).catch(() => []);
  if (traces.length === 0) keep({ session: null });
  for (const trace of traces) {
    const { show, status } = addChat(log, trace.question);
    for (const event of eventsOf(trace)) show(event);
    status.remove();
  }
}

/** A question at the top of the conversation; the answer comes to stand above how it was found. */
function addChat(log, text) {
  const steps = el("div", { class: "steps", role: "group", "aria-label": "What the agent did" });
  const status = el("p", { class: "hint", role: "status" }, "Thinking …");
  const outcome = el("div", { class: "outcome" }, status);
  log.prepend(
    el(
      "section",
      { class: "chat", "aria-label": "Question and answer" },
      outside("p", text, "question"),
      outcome,
      steps,
    ),
  );
  return { outcome, status, show: chatShower(outcome, steps, status) };
}

/** Asks, and shows what the agent does as it does it. Never throws. */
async function answer(log, asked, signal) {
  const { outcome, status, show } = addChat(log, asked.text);
  const variables = { ...(asked.inbox && { inbox_address: asked.inbox }), ...(asked.day && { query_date: asked.day }) };
  const body = {
    messages: [{ role: "user", content: asked.text }],
    variables,
    ...(kept.session && { sessionId: kept.session }),
    ...(asked.model && { modelId: asked.model }),
  };
  try {
    for await (const event of chatEvents(asked.agent, body, signal)) show(event);
  } catch (error) {
    outcome.append(el("p", { class: "notice bad", role: "alert" }, signal.aborted ? "Stopped." : error.message));
  }
  status.remove();
}

/** Shows one event after another. */
function chatShower(outcome, steps, status) {
  const calls = new Map();
  let said = null;
  const does = {
    "text-delta"({ text }) {
      if (said === null) {
        said = outside("p", "", "answer");
        outcome.append(said);
      }
      said.textContent += text;
    },
    "tool-call"({ toolCallId, toolName }) {
      // What comes before a call is no answer.
      if (said !== null) {
        said.className = "said";
        steps.append(said);
        said = null;
      }
      calls.set(toolCallId, { name: toolName });
    },
    "tool-call-args"({ toolCallId, args: text }) {
      const call = calls.get(toolCallId);
      const args = parsed(text);
      // The answer is told as text too.
      if (call.name === "return_final_answer") {
        call.sources = args?.sources;
        return;
      }
      call.card = callCard(call.name, args);
      steps.append(call.card.element);
      status.textContent = `Calling ${call.name} …`;
    },
    "tool-result"({ toolCallId, result }) {
      const { card, sources } = calls.get(toolCallId) ?? {};
      card?.setResult(result);
      if (Array.isArray(sources) && sources.length > 0 && !result?.error) {
        outcome.append(el("p", { class: "hint" }, "Sources: ", outside("span", sources.join(", "), "mono")));
      }
      said = null;
      status.textContent = "Thinking …";
    },
    error: ({ errorText }) => outcome.append(el("p", { class: "notice bad", role: "alert" }, errorText)),
    "recoverable-error": ({ error }) => outcome.append(el("p", { class: "notice bad", role: "alert" }, error)),
    "session-info"({ sessionId, traceId }) {
      keep({ session: sessionId });
      const link = el("a", { href: `#trace/${encodeURIComponent(traceId)}` }, "Open the trace");
      outcome.append(el("div", { class: "after" }, link, feedbackForm(traceId)));
    },
  };
  return (event) => does[event.type]?.(event);
}

/** Arguments come as a text of JSON; what the model has garbled is shown as it is. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
