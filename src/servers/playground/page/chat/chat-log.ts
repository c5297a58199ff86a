import { h, untrustedInline, untrustedText } from "../../../../reports/page/shared/dom.js";
import { duration } from "../../../../reports/text/format-number.js";
import { feedbackForm } from "../feedback-form.js";
import { chatEvents } from "../request.js";
import { errorNotice, mailLinks } from "../tables.js";
import { type ToolCallCard, toolCallCard } from "../tool-call-card.js";
import { loadSessionTraces, traceToEvents } from "../trace-to-events.js";
import type { ChatEvent } from "./chat-events.js";
import { chatState, updateChatState } from "./chat-state.js";

export interface Question {
  readonly agent: string;
  /** Empty: any mailbox. */
  readonly inbox: string;
  readonly day: string;
  readonly model: string;
  readonly text: string;
}

/** The conversation: the newest question on top, its answer above the steps that led to it. */
export class ChatLog {
  readonly element = h("div", { class: "log", role: "log", "aria-label": "Conversation" });

  /** Counts sessions. */
  private conversation = 0;

  clear(): void {
    this.conversation++;
    this.element.replaceChildren();
  }

  /** Shows the chats of the stored session again; starts a new session where it no longer exists. */
  async restoreSession(): Promise<void> {
    const { session } = chatState();
    const traces = session === null ? [] : await loadSessionTraces(session).catch(() => []);
    if (traces.length === 0) updateChatState({ session: null });
    for (const trace of traces) {
      const exchange = this.addExchange(trace.question);
      for (const event of traceToEvents(trace)) exchange.show(event);
      exchange.end();
    }
  }

  /** Asks, and shows the events as they come. Never throws. */
  async ask({ agent, inbox, day, model, text }: Question, signal: AbortSignal): Promise<void> {
    const exchange = this.addExchange(text);
    const { session } = chatState();
    const body = {
      messages: [{ role: "user", content: text }],
      variables: { ...(inbox && { inbox_address: inbox }), ...(day && { query_date: day }) },
      ...(session && { sessionId: session }),
      ...(model && { modelId: model }),
    };
    try {
      for await (const event of chatEvents(agent, body, signal)) exchange.show(event);
    } catch (error) {
      exchange.showError(signal.aborted ? "Stopped." : (error as Error).message);
    }
    exchange.end();
  }

  private addExchange(question: string): Exchange {
    const { conversation } = this;
    const exchange = new Exchange(question, (session) => {
      // An answer that comes after the user has begun another session does not bring the old one back.
      if (conversation === this.conversation) updateChatState({ session });
    });
    this.element.prepend(exchange.element);
    return exchange;
  }
}

/** One question, what the agent did, and its answer. */
class Exchange {
  readonly element: HTMLElement;
  private readonly steps = h("div", { class: "steps", role: "group", "aria-label": "What the agent did" });
  private readonly status = h("p", { class: "hint", role: "status" }, "Thinking …");
  private readonly outcome = h("div", { class: "outcome" }, this.status);
  private readonly calls = new Map<string, { name: string; card?: ToolCallCard; sources?: unknown }>();
  /** The text of the reply that is coming in; null between replies. */
  private text: HTMLElement | null = null;

  constructor(
    question: string,
    private readonly onSession: (sessionId: string) => void,
  ) {
    this.element = h(
      "section",
      { class: "chat", "aria-label": "Question and answer" },
      untrustedText(question, "question", "p"),
      this.outcome,
      this.steps,
    );
  }

  show(event: ChatEvent): void {
    switch (event.type) {
      case "text-delta":
        this.addText(event.text);
        break;
      case "tool-call":
        this.moveTextToSteps();
        this.calls.set(event.toolCallId, { name: event.toolName });
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
        this.showSession(event.sessionId, event.traceId);
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

  private addText(text: string): void {
    if (this.text === null) {
      this.text = untrustedText("", "answer", "p");
      this.outcome.append(this.text);
    }
    this.text.textContent += text;
  }

  /** Text before a tool call is not the answer. */
  private moveTextToSteps(): void {
    if (this.text === null) return;
    this.text.className = "said";
    this.steps.append(this.text);
    this.text = null;
  }

  private showCall(id: string, args: unknown): void {
    const call = this.calls.get(id);
    if (call === undefined) return;
    // The answer comes as text too; only its sources are shown from the call.
    if (call.name === "return_final_answer") {
      call.sources = (args as { sources?: unknown } | null)?.sources;
      return;
    }
    call.card = toolCallCard(call.name, args);
    this.steps.append(call.card.element);
    this.status.textContent = `Calling ${call.name} …`;
  }

  private showResult(id: string, result: unknown): void {
    const { card, sources } = this.calls.get(id) ?? {};
    card?.setResult(result);
    const isError = Boolean((result as { error?: unknown } | null)?.error);
    if (Array.isArray(sources) && sources.length > 0 && !isError) {
      this.outcome.append(h("p", { class: "hint" }, "Sources: ", mailLinks(sources.map(String))));
    }
    this.text = null;
    this.status.textContent = "Thinking …";
  }

  /** It stays among the steps: it tells where the time went. */
  private showRetry({ attempt, reason, waitMs }: Extract<ChatEvent, { type: "retry" }>): void {
    const wait = `attempt ${attempt + 1} after ${duration(waitMs)}`;
    this.steps.append(h("p", { class: "retry" }, `The model did not answer; ${wait}: `, untrustedInline(reason)));
    this.status.textContent = `The model did not answer. Trying again: ${wait} …`;
  }

  private showSession(sessionId: string, traceId: string): void {
    this.onSession(sessionId);
    const link = h("a", { href: `#trace/${encodeURIComponent(traceId)}` }, "Open the trace");
    this.outcome.append(h("div", { class: "after" }, link, feedbackForm(traceId)));
  }
}

/** Arguments come as JSON text; where the model sent something else, that text is shown. */
function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
