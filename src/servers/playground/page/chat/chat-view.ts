import { h } from "../../../../reports/page/shared/dom.js";
import type { AgentJson, InboxesJson, ModelsJson } from "../api-types.js";
import { get } from "../request.js";
import { ChatLog, type Question } from "./chat-log.js";
import { chatState, updateChatState } from "./chat-state.js";

/** One for the life of the page, so that the conversation is still there after a visit to another section. */
let log: ChatLog | null = null;

/** Whether the log shows the stored session's chats. */
let isRestored = false;

interface Choices {
  readonly agents: readonly AgentJson[];
  readonly inboxes: InboxesJson;
  readonly models: ModelsJson;
}

type Fields = ReturnType<typeof createFields>;

export async function chatView(page: HTMLElement, agentId: string | null): Promise<void> {
  const [{ agents }, inboxes, models] = await Promise.all([
    get<{ agents: AgentJson[] }>("/api/agents"),
    get<InboxesJson>("/api/inboxes"),
    get<ModelsJson>("/api/models"),
  ]);
  const choices = { agents, inboxes, models };
  const fields = createFields(choices);
  log ??= new ChatLog();
  fillFields(fields, choices, agentId);
  const { session, agent } = chatState();
  if (session !== null && fields.agent.value !== agent) startSession(log);
  if (chatState().session !== null && !isRestored) await log.restoreSession();
  isRestored = true;
  const form = questionForm(fields, choices, log);
  page.append(h("h2", { class: "hidden" }, "Ask an agent"), form, log.element);
  fields.question.focus();
}

function createFields({ agents, inboxes: { first_date, last_date } }: Choices) {
  const plainText = { autocomplete: "off", spellcheck: "false" };
  const days = { min: first_date?.slice(0, 10) ?? null, max: last_date?.slice(0, 10) ?? null };
  return {
    agent: h("select", { id: "agent" }, ...agents.map(({ id, name }) => h("option", { value: id }, name))),
    inbox: h("input", { id: "inbox", list: "inboxes", placeholder: "any mailbox", ...plainText }),
    day: h("input", { id: "day", type: "date", ...days }),
    model: h("input", { id: "model", list: "models", ...plainText }),
    question: h("textarea", { id: "question", rows: 2, placeholder: "Ask a question about the mail", required: true }),
  };
}

function fillFields(fields: Fields, choices: Choices, agentId: string | null): void {
  const { agent, inbox, day, model, draft } = chatState();
  const defaultAgent = choices.models.models.length > 1 ? "email-search" : "baseline";
  fields.agent.value = agentId ?? agent ?? defaultAgent;
  fields.inbox.value = inbox ?? choices.inboxes.inboxes[0] ?? "";
  fields.day.value = day;
  fields.model.value = model;
  fields.question.value = draft;
  showDefaultModel(fields, choices);
}

function showDefaultModel({ agent, model }: Fields, { agents, models }: Choices): void {
  model.placeholder = agents.find(({ id }) => id === agent.value)?.model ?? models.default_model;
}

/** What is shown of a session that another takes the place of. */
export function forgetConversation(): void {
  log?.clear();
  isRestored = false;
}

function startSession(log: ChatLog): void {
  updateChatState({ session: null });
  log.clear();
}

function saveChoices({ agent, inbox, day, model }: Fields, draft: string): void {
  updateChatState({ agent: agent.value, inbox: inbox.value, day: day.value, model: model.value, draft });
}

function questionForm(fields: Fields, choices: Choices, log: ChatLog): HTMLElement {
  const { agent, inbox, day, model, question } = fields;
  const ask = h("button", { class: "primary", type: "submit" }, "Ask");
  const stop = h("button", { type: "button", hidden: true }, "Stop");
  const fresh = h("button", { type: "button", title: "Forget what was said, and begin a new session" }, "New session");
  const form = h(
    "form",
    { class: "ask" },
    h(
      "div",
      { class: "choices" },
      labelled("Agent", agent),
      labelled("Mailbox", inbox),
      labelled("Day (no later mail)", day),
      labelled("Model", model),
    ),
    h("datalist", { id: "inboxes" }, ...choices.inboxes.inboxes.map((address) => h("option", { value: address }))),
    h("datalist", { id: "models" }, ...choices.models.models.map(({ id }) => h("option", { value: id }))),
    h("label", { class: "hidden", for: "question" }, "Question"),
    h("div", { class: "line" }, question, h("div", { class: "buttons" }, ask, stop)),
    h("div", { class: "under" }, h("span", { class: "hint" }, "Enter asks, Shift+Enter makes a new line."), fresh),
  );
  // A session is bound to its agent, mailbox and day.
  for (const field of [agent, inbox, day]) {
    field.addEventListener("change", () => {
      showDefaultModel(fields, choices);
      if (chatState().session !== null) startSession(log);
    });
  }
  for (const field of [agent, inbox, day, model, question]) {
    field.addEventListener("input", () => saveChoices(fields, question.value));
  }
  fresh.addEventListener("click", () => {
    startSession(log);
    question.focus();
  });
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (question.value.trim() === "" || ask.disabled) return;
    const asked = takeQuestion(fields);
    const controller = new AbortController();
    stop.onclick = () => controller.abort();
    ask.disabled = true;
    stop.hidden = false;
    await log.ask(asked, controller.signal);
    if (chatState().draft === asked.text) updateChatState({ draft: question.value });
    ask.disabled = false;
    stop.hidden = true;
    if (document.contains(question)) question.focus();
  });
  return form;
}

/** Empties the question field; the draft stays stored until the question is answered, as a reload would lose it. */
function takeQuestion(fields: Fields): Question {
  const { agent, inbox, day, model, question } = fields;
  const text = question.value.trim();
  question.value = "";
  saveChoices(fields, text);
  return { agent: agent.value, inbox: inbox.value.trim(), day: day.value, model: model.value.trim(), text };
}

function labelled(text: string, field: HTMLElement): HTMLElement {
  return h("div", {}, h("label", { for: field.id }, text), field);
}
