// The chat section: choosing agent, mailbox and date, and the conversation while it is streamed.
import { presentProperties } from "../../platform/optional-values.js";
import { changesOf } from "../../scoring/goal-match.js";
import type { ChatEvent } from "../../server/chat-event.js";
import type { AgentJson, InboxesJson, ModelsJson, RepeatJson } from "../../server/response-shapes.js";
import { duration } from "../../text/format.js";
import { append, h, replaceChildren, select, setText, untrustedInline, untrustedText } from "../dom.js";
import { changeTable } from "../report/change-table.js";
import { mailWords } from "../report/conversation.js";
import { get, postEvents } from "./api.js";
import { errorNotice, labeled, mailLinks } from "./lists.js";
import { comparedAnswers, loadRepeat, repeatPanel } from "./repeat.js";
import { feedbackForm, loadSessionTraces, type ToolCallCard, toolCallCard, traceToEvents } from "./trace.js";

/** The log lives as long as the page, so that the conversation remains after a visit to another section. */
let log: ChatLog | null = null;

/** Whether the log shows the stored session's chats. */
let isRestored = false;

interface Choices {
  readonly agents: readonly AgentJson[];
  readonly inboxes: InboxesJson;
  readonly models: ModelsJson;
  /** The task that the next answer repeats, or null. */
  readonly repeat: RepeatJson | null;
}

type Fields = Readonly<Record<"inbox" | "day" | "model", HTMLInputElement>> & {
  readonly agent: HTMLSelectElement;
  readonly question: HTMLTextAreaElement;
};

interface Question {
  readonly agent: string;
  /** Empty for any mailbox. */
  readonly inbox: string;
  readonly day: string;
  readonly model: string;
  readonly text: string;
  readonly repeats: ChatState["repeats"];
}

interface ChatState {
  readonly agent: string | null;
  /** Null before the first choice, empty for any mailbox. */
  readonly inbox: string | null;
  readonly day: string;
  readonly model: string;
  /** The current session. */
  readonly session: string | null;
  /** Text of the question field. */
  readonly draft: string;
  /** The trace that the next answer repeats, with an edited prompt. */
  readonly repeats: { readonly traceId: string; readonly prompt: string | null } | null;
}

/** `query` can contain a trace to repeat, as in links from tasks. */
export async function chatView(page: HTMLElement, agentId: string | null, query: URLSearchParams): Promise<void> {
  let refusal: HTMLElement | null = null;
  const [linked, { agents }, inboxes, models] = await Promise.all([
    takeLink(query).catch(({ message }: Error) => {
      refusal = errorNotice(`This task cannot be repeated. ${message} You can ask with other settings.`);
      return null;
    }),
    get<{ agents: AgentJson[] }>("/api/agents"),
    get<InboxesJson>("/api/inboxes"),
    get<ModelsJson>("/api/models"),
  ]);
  const choices = { agents, inboxes, models, repeat: linked ?? (await storedRepeat()) };
  const fields = createFields(choices, agentId);
  log ??= new ChatLog();
  const { session, agent } = state;
  if (session !== null && fields.agent.value !== agent) startSession(log);
  if (state.session !== null && !isRestored) await log.restoreSession();
  isRestored = true;
  const form = questionForm(fields, choices, log);
  const examples = choices.repeat === null && exampleQuestions(fields, choices);
  append(page, [h("h2.hidden", "Ask an agent"), log.element, refusal, examples, form]);
  fields.question.focus();
}

/** Starts a new session with the recorded choices of a linked trace. Its question becomes the draft. */
async function takeLink(query: URLSearchParams): Promise<RepeatJson | null> {
  const traceId = query.get("repeats");
  if (traceId === null) return null;
  const repeat = await loadRepeat(traceId);
  const { agent_id: agent, model, question: draft } = repeat;
  const [inbox, day] = [repeat.inbox ?? "", repeat.query_date?.slice(0, 10) ?? ""];
  forgetConversation();
  updateChatState({ agent, inbox, day, model, session: null, draft, repeats: { traceId, prompt: null } });
  // A reload must not replace the conversation that follows.
  history.replaceState(history.state, "", "#chat");
  return repeat;
}

/** Returns the task of an earlier link, unless its trace was deleted. */
async function storedRepeat(): Promise<RepeatJson | null> {
  const { repeats } = state;
  if (repeats === null) return null;
  const repeat = await loadRepeat(repeats.traceId).catch(() => null);
  if (repeat === null) updateChatState({ repeats: null });
  return repeat;
}

function createFields(choices: Choices, agentId: string | null): Fields {
  const { agents, inboxes, models } = choices;
  const { agent, inbox, day, model, draft } = state;
  const plainText = { autocomplete: "off", spellcheck: "false" };
  const [min = null, max = null] = [inboxes.first_date, inboxes.last_date].map((date) => date?.slice(0, 10) ?? null);
  const mailbox = inbox ?? inboxes.inboxes[0] ?? "";
  const question = { id: "question", rows: 2, placeholder: "Ask a question about the mail", required: true };
  const options = agents.map((one) => [one.id, agentLabel(one, agents)] as const);
  const fields = {
    agent: select({ id: "agent" }, options),
    inbox: h("input", { id: "inbox", list: "inboxes", placeholder: "any mailbox", value: mailbox, ...plainText }),
    day: h("input", { id: "day", type: "date", value: day, min, max }),
    model: h("input", { id: "model", list: "models", value: model, ...plainText }),
    question: h("textarea", question, draft),
  };
  fields.agent.value = agentId ?? agent ?? (models.models.length > 1 ? "email-search" : "baseline");
  showDefaultModel(fields, choices);
  return fields;
}

/** Returns the agent's name, with its id if another agent has the same name. */
function agentLabel({ id, name }: AgentJson, agents: readonly AgentJson[]): string {
  return agents.some((other) => other.id !== id && other.name === name) ? `${name} (${id})` : name;
}

function showDefaultModel({ agent, model }: Fields, { agents, models }: Choices): void {
  model.placeholder = agents.find(({ id }) => id === agent.value)?.model ?? models.default_model;
}

/** Shows a session in the next chat view. The draft remains if the session was already shown. */
export function continueSession(session: Pick<ChatState, "agent" | "inbox" | "day" | "session">): void {
  if (session.session === state.session) return;
  forgetConversation();
  updateChatState({ ...session, draft: "", repeats: null });
}

/** Clears the shown session before another one replaces it. */
function forgetConversation(): void {
  log?.clear();
  isRestored = false;
}

function startSession(log: ChatLog): void {
  updateChatState({ session: null });
  showSessionInUrl();
  log.clear();
}

/** Makes the URL of the chat a link to its session, unless the user has moved to another section. */
function showSessionInUrl(): void {
  if (!/^#chats?\b/.test(location.hash)) return;
  const { session } = state;
  history.replaceState(history.state, "", session === null ? "#chat" : `#chats/${encodeURIComponent(session)}`);
}

function saveChoices({ agent, inbox, day, model }: Fields, draft: string): void {
  updateChatState({ agent: agent.value, inbox: inbox.value, day: day.value, model: model.value, draft });
}

function questionForm(fields: Fields, choices: Choices, log: ChatLog): HTMLElement {
  const { agent, inbox, day, model, question } = fields;
  const ask = h("button.primary", { type: "submit" }, "Ask");
  const stop = h("button", { hidden: true }, "Stop");
  const startAgain = () => {
    startSession(log);
    question.focus();
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (question.value.trim() === "" || ask.disabled) return;
    const sentQuestion = takeQuestion(fields);
    const controller = new AbortController();
    stop.onclick = () => controller.abort();
    ask.disabled = true;
    stop.hidden = false;
    await log.ask(sentQuestion, controller.signal);
    // The same question can be repeated with another prompt or model.
    if (sentQuestion.repeats !== null && question.value === "") question.value = sentQuestion.text;
    if (state.draft === sentQuestion.text) updateChatState({ draft: question.value });
    ask.disabled = false;
    stop.hidden = true;
    if (document.contains(question)) question.focus();
  };
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    question.form?.requestSubmit();
  });
  // A session is bound to its agent, mailbox and date.
  const change = ({ target }: Event) => {
    if (target !== agent && target !== inbox && target !== day) return;
    if (target === agent) endRepeat();
    showDefaultModel(fields, choices);
    if (state.session !== null) startSession(log);
  };
  const { repeat } = choices;
  const panel =
    repeat &&
    repeatPanel({
      repeat,
      prompt: state.repeats?.prompt ?? null,
      onPrompt: (prompt) => updateChatState({ repeats: { traceId: repeat.trace_id, prompt } }),
      onEnd: () => endRepeat(),
    });
  const endRepeat = () => {
    panel?.remove();
    updateChatState({ repeats: null });
  };
  return h(
    "form.ask",
    { submit, change, input: () => saveChoices(fields, question.value) },
    panel,
    h(
      "div.choices",
      labeled("Agent", agent),
      labeled("Mailbox", inbox),
      labeled("Date (hides later email)", day),
      labeled("Model", model),
    ),
    h("datalist", { id: "inboxes" }, ...choices.inboxes.inboxes.map((address) => h("option", { value: address }))),
    h("datalist", { id: "models" }, ...choices.models.models.map(({ id }) => h("option", { value: id }))),
    h("label.hidden", { for: "question" }, "Question"),
    h("div.line", question, h("div.buttons", ask, stop)),
    h(
      "div.under",
      h("span.hint", "Enter sends the question, Shift+Enter adds a new line."),
      h("button", { title: "Clear the conversation and start a new session", click: startAgain }, "New session"),
    ),
  );
}

/** Questions about the mailbox as buttons. A click fills in a question with the date on which it was asked. */
function exampleQuestions({ inbox, day, question }: Fields, { inboxes }: Choices): HTMLElement {
  const choose = (text: string, date: string) => () => {
    [question.value, day.value] = [text, date.slice(0, 10)];
    question.dispatchEvent(new Event("input", { bubbles: true }));
    question.focus();
  };
  const list = h("div.examples", { role: "group", "aria-label": "Example questions" });
  const show = () => {
    const shown = inboxes.questions.filter((each) => each.inbox === inbox.value.trim());
    replaceChildren(
      list,
      ...shown.map(({ question, date }) =>
        h("button.quiet", { click: choose(question, date) }, untrustedInline(question)),
      ),
    );
  };
  inbox.addEventListener("input", show);
  show();
  return list;
}

/**
 * Clears the question field. The draft remains stored until the question is answered, because a reload would lose it.
 */
function takeQuestion(fields: Fields): Question {
  const { agent, inbox, day, model, question } = fields;
  const text = question.value.trim();
  question.value = "";
  saveChoices(fields, text);
  const { repeats } = state;
  return { agent: agent.value, inbox: inbox.value.trim(), day: day.value, model: model.value.trim(), text, repeats };
}

/** The conversation, with the newest question at the bottom and each answer above the steps that led to it. */
class ChatLog {
  readonly element = h("div.log", { role: "log", "aria-label": "Conversation" });

  /** Number of the current session. */
  private conversation = 0;

  /** Results of all tool calls of the session. */
  private results: unknown[] = [];

  clear(): void {
    this.conversation++;
    this.results = [];
    this.element.replaceChildren();
  }

  /** Shows the chats of the stored session again, or starts a new session if it no longer exists. */
  async restoreSession(): Promise<void> {
    const { session } = state;
    const traces = session === null ? [] : await loadSessionTraces(session).catch(() => []);
    if (traces.length === 0) updateChatState({ session: null });
    for (const trace of traces) {
      const exchange = this.addExchange(trace.question);
      for (const event of traceToEvents(trace)) exchange.show(event);
      exchange.end();
    }
  }

  /** Asks a question and shows the events as they arrive. Never throws. */
  async ask({ agent, inbox, day, model, text, repeats }: Question, signal: AbortSignal): Promise<void> {
    const exchange = this.addExchange(text);
    // A repeated task is the first question of its session.
    const session = repeats === null ? state.session : null;
    const body = {
      messages: [{ role: "user", content: text }],
      variables: presentProperties({ inbox_address: inbox || null, query_date: day || null }),
      ...presentProperties({
        sessionId: session || null,
        modelId: model || null,
        repeats: repeats && { trace_id: repeats.traceId, prompt: repeats.prompt },
      }),
    };
    const path = `/api/agents/${encodeURIComponent(agent)}/playground/chat`;
    try {
      for await (const event of postEvents<ChatEvent>(path, body, signal)) exchange.show(event);
    } catch (error) {
      exchange.showError(signal.aborted ? "Stopped." : (error as Error).message);
    }
    exchange.end();
  }

  private addExchange(question: string): Exchange {
    const { conversation } = this;
    const exchange = new Exchange(question, this.results, (session) => {
      // An answer that arrives after the user started another session does not restore the old one.
      if (conversation === this.conversation) {
        updateChatState({ session });
        showSessionInUrl();
      }
    });
    this.element.append(exchange.element);
    exchange.element.scrollIntoView();
    return exchange;
  }
}

/** A question, the agent's steps and the answer. */
class Exchange {
  readonly element: HTMLElement;
  private readonly steps = h("div.steps", { role: "group", "aria-label": "Agent steps" });
  private readonly status = h("p.hint", { role: "status" }, "Thinking …");
  private readonly outcome = h("div.outcome", this.status);
  private readonly calls = new Map<string, { name: string; card?: ToolCallCard; sources?: unknown }>();
  /** The text of the current reply, or null between replies. */
  private text: HTMLElement | null = null;
  /** The answer in the arguments of a call, by the call's id. */
  private readonly answers = new Map<string, HTMLElement>();
  private reasoning: HTMLElement | null = null;

  constructor(
    question: string,
    private readonly results: unknown[],
    private readonly onSession: (sessionId: string) => void,
  ) {
    this.element = h(
      "section.chat",
      { "aria-label": "Question and answer" },
      untrustedText(question, "question", "p"),
      this.outcome,
      this.steps,
    );
  }

  show(event: ChatEvent): void {
    switch (event.type) {
      case "text-delta":
        this.reasoning = null;
        append(this.textElement(event.toolCallId), [event.text]);
        break;
      case "text-replaced":
        setText(this.textElement(event.toolCallId), event.text);
        break;
      case "reasoning-delta":
        this.addReasoning(event.text);
        break;
      case "tool-call":
        this.announceCall(event.toolCallId, event.toolName);
        break;
      case "tool-call-args":
        this.showCall(event.toolCallId, parseArguments(event.args));
        break;
      case "tool-result":
        this.showResult(event.toolCallId, event.result);
        break;
      case "error":
        this.showError(event.errorText);
        break;
      case "recoverable-error":
        this.showError(event.error);
        break;
      case "session-info":
        this.showSession(event);
        break;
      case "retry":
        this.showRetry(event);
    }
  }

  showError(message: string): void {
    this.outcome.append(errorNotice(message));
  }

  end(): void {
    this.status.remove();
  }

  /** The element with the text of the current reply, or with the answer in the arguments of a call. */
  private textElement(toolCallId: string | undefined): HTMLElement {
    const known = toolCallId === undefined ? this.text : this.answers.get(toolCallId);
    if (known) return known;
    const element = untrustedText("", "answer", "p");
    this.outcome.append(element);
    if (toolCallId === undefined) this.text = element;
    else this.answers.set(toolCallId, element);
    return element;
  }

  private addReasoning(text: string): void {
    if (this.reasoning === null) {
      this.reasoning = untrustedText("", "reasoning", "p");
      this.steps.append(this.reasoning);
      setText(this.status, "Reasoning …");
    }
    append(this.reasoning, [text]);
  }

  /** Text before a tool call is not the answer. */
  private moveTextToSteps(): void {
    this.reasoning = null;
    if (this.text === null) return;
    this.text.className = "said";
    this.steps.append(this.text);
    this.text = null;
  }

  private announceCall(id: string, name: string): void {
    this.moveTextToSteps();
    this.calls.set(id, { name });
    setText(this.status, name === "return_final_answer" ? "Answering …" : `Calling ${name} …`);
  }

  private showCall(id: string, args: unknown): void {
    const call = this.calls.get(id);
    if (call === undefined) return;
    // The answer arrives as text too, so only the sources are taken from the call.
    if (call.name === "return_final_answer") {
      call.sources = (args as { sources?: unknown } | null)?.sources;
      return;
    }
    // The end of a text can arrive only when the reply is complete.
    this.moveTextToSteps();
    call.card = toolCallCard(call.name, args);
    this.steps.append(call.card.element);
    setText(this.status, `Calling ${call.name} …`);
  }

  private showResult(id: string, result: unknown): void {
    const { card, sources } = this.calls.get(id) ?? {};
    card?.setResult(result);
    this.results.push(result);
    const isError = Boolean((result as { error?: unknown } | null)?.error);
    if (Array.isArray(sources) && sources.length > 0 && !isError) {
      this.outcome.append(h("p.hint", "Sources: ", mailLinks(sources.map(String), mailWords(this.results))));
    }
    this.text = null;
    setText(this.status, "Thinking …");
  }

  /** Retries remain in the steps, because they explain the time. */
  private showRetry({ attempt, reason, waitMs }: Extract<ChatEvent, { type: "retry" }>): void {
    const wait = `attempt ${attempt + 1} after ${duration(waitMs)}`;
    this.steps.append(h("p.retry", `The model call failed; retrying (${wait}): `, untrustedInline(reason)));
    setText(this.status, `The model call failed. Retrying: ${wait} …`);
  }

  private showSession({ sessionId, traceId, actions, repeats }: Extract<ChatEvent, { type: "session-info" }>): void {
    this.onSession(sessionId);
    const changes = changesOf({ kind: "chat", ...presentProperties({ actions }) });
    append(this.outcome, [changeTable(changes, mailWords(this.results))]);
    const link = h("a", { href: `#trace/${encodeURIComponent(traceId)}` }, "Open the trace");
    this.outcome.append(h("div.after", link, feedbackForm(traceId)));
    if (repeats === undefined) return;
    const compared = h("div");
    this.outcome.append(compared);
    comparedAnswers(repeats, traceId).then(
      (element) => compared.append(element),
      (error: Error) => compared.append(errorNotice(error.message)),
    );
  }
}

/** Parses a call's arguments, or returns the text if the model's output is not JSON. */
function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const KEY = "art-e-chat";

/**
 * The latest choices and question of this tab. They are in the tab's storage, so they survive reloads and visits to
 * other sections.
 */
let state: ChatState = {
  agent: null,
  inbox: null,
  day: "",
  model: "",
  session: null,
  draft: "",
  repeats: null,
  ...readStored(),
};

function updateChatState(changes: Partial<ChatState>): void {
  state = { ...state, ...changes };
  sessionStorage.setItem(KEY, JSON.stringify(state));
}

function readStored(): Partial<ChatState> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}
