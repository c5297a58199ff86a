// Shows the messages, tool calls and emails of a trace.
import type { CallView, MailView, StepView, TurnView } from "../../reports/report-data.js";
import { type Hit, readMachineResult, readToolResult } from "../../reports/trace-view.js";
import { count, counted, duration } from "../../text/format.js";
import type { TextSpan } from "../../text/passages.js";
import {
  costText,
  factLine,
  h,
  highlightedText,
  minuteText,
  replaceChildren,
  untrustedInline,
  untrustedText,
} from "../dom.js";
import { spaceWords } from "./header.js";
import { machineResult } from "./suite-task.js";

const WHO = { system: "Instructions", user: "Question", assistant: "Agent", tool: "Tool" } as const;

/** Characters above which a result is collapsed. */
const LONG = 400;

/** Characters up to which JSON is in one line. */
const SHORT = 100;

/** Loads an email in full, or is null if only the emails in the conversation are available. */
export type LoadMail = ((messageId: string) => Promise<MailView>) | null;

/** The emails of a conversation. */
export interface ShownMails {
  /** Opened and gold emails by Message-ID. */
  readonly known: ReadonlyMap<string, MailView>;
  readonly load: LoadMail;
  /** Shows an email with its badges, and with the passage marked that the answer is from. */
  card(mail: MailView, badges: readonly string[], isOpen: boolean): HTMLElement;
}

/** Returns the emails that tools returned in full, by Message-ID. */
export function openedMails(steps: readonly StepView[]): Map<string, MailView> {
  const opened = new Map<string, MailView>();
  for (const { result } of steps.flatMap(({ calls }) => calls)) {
    const view = readToolResult(result);
    if (view.kind === "mail" && !opened.has(view.mail.messageId)) opened.set(view.mail.messageId, view.mail);
  }
  return opened;
}

/** Describes an email by subject, sender and time if a tool result contains it, otherwise by its Message-ID. */
export function mailWords(results: readonly unknown[]): (messageId: string) => string {
  const seen = new Map<string, string>();
  for (const result of results) {
    const view = readToolResult(result);
    const mails = view.kind === "mail" ? [view.mail] : view.kind === "hits" ? view.hits : [];
    for (const { messageId, subject, sender, date } of mails) {
      const words = [subject || "(no subject)", sender, date === null ? null : minuteText(date)];
      seen.set(messageId, words.filter((word) => word !== null).join(", "));
    }
  }
  return (messageId) => seen.get(messageId) ?? messageId;
}

/**
 * Shows messages and tool calls in order. The instructions are collapsed, and so is the instruction of a suite task,
 * because the page shows it above the conversation.
 */
export function conversation(
  steps: readonly StepView[],
  gold: ReadonlySet<string>,
  isOfSuite: boolean,
  mails: ShownMails,
): HTMLElement {
  let turn = 0;
  return h(
    "ol.conversation",
    ...steps.map(({ role, text, calls, turn: model }) => {
      if (role === "assistant") turn++;
      return h(
        "li",
        { class: `step ${role}` },
        h(
          "details",
          { open: role !== "system" && !(role === "user" && isOfSuite) },
          h(
            "summary.who",
            role === "assistant" ? `${WHO.assistant}, turn ${turn}` : WHO[role],
            model === null ? null : h("span.meta", turnText(model)),
          ),
          text === "" ? null : untrustedText(text),
          ...calls.map((call) => callItem(call, gold, mails)),
        ),
      );
    }),
  );
}

function turnText({ latencyMs, waitedMs, tokens, costUsd, finishReason, retries }: TurnView): string {
  return factLine(
    duration(latencyMs),
    waitedMs < 1 ? null : `waited ${duration(waitedMs)}`,
    tokens === null || tokens.input + tokens.output === 0
      ? null
      : `${counted(tokens.input, "token")} in, ${count(tokens.output)} out`,
    costUsd === null || costUsd === 0 ? null : costText(costUsd),
    finishReason === "stop" || finishReason === "tool_calls" ? null : `ended by ${spaceWords(finishReason)}`,
    retries === 0 ? null : counted(retries, "retry", "retries"),
  );
}

/** A tool call with its result, or without one while the tool is running. */
export function callItem(call: CallView, gold: ReadonlySet<string>, mails: ShownMails): HTMLElement {
  const time = call.durationMs === null ? null : h("span.meta", duration(call.durationMs));
  return h(
    "div",
    { class: call.error === null ? "call" : "call refused" },
    h("p.head", h("code", untrustedInline(call.name)), time),
    argumentList(call.arguments),
    call.error === null ? result(call, gold, mails) : h("p.error", "Refused: ", untrustedInline(call.error)),
  );
}

/** Shows arguments by name, or unchanged if they are not an object. */
function argumentList(args: unknown): HTMLElement {
  if (typeof args !== "object" || args === null || Array.isArray(args))
    return untrustedText(shownValue(args), "text code");
  return h(
    "dl.arguments",
    ...Object.entries(args).flatMap(([name, value]) => [
      h("dt", untrustedInline(name)),
      h("dd", isCode(name, value) ? untrustedText(shownValue(value), "text code") : untrustedInline(shownValue(value))),
    ]),
  );
}

/** Whether an argument is a program or another text with several lines. */
function isCode(name: string, value: unknown): boolean {
  return typeof value === "string" && (name === "command" || name === "code" || value.includes("\n"));
}

function result(call: CallView, gold: ReadonlySet<string>, mails: ShownMails): HTMLElement {
  if (call.result === undefined) return h("p.meta", "working …");
  if (call.durationMs === null && call.result === null) return h("p.meta", "not executed");
  const machine = readMachineResult(call.result);
  if (machine !== null) return machineResult(machine);
  const view = readToolResult(call.result);
  if (view.kind === "mail") return mails.card(view.mail, gold.has(view.mail.messageId) ? ["gold"] : [], false);
  if (view.kind === "hits") return hitList(view.hits, view.total, gold, mails);
  const text = shownValue(view.value);
  return text.length <= LONG
    ? untrustedText(text, "text code")
    : h("details", h("summary", counted(text.length, "character")), untrustedText(text, "text code"));
}

function hitList(
  hits: readonly Hit[],
  total: number | null,
  gold: ReadonlySet<string>,
  mails: ShownMails,
): HTMLElement {
  if (hits.length === 0) return h("p.meta", "0 emails");
  const goldHits = hits.filter(({ messageId }) => gold.has(messageId)).length;
  const of = total === null || total <= hits.length ? "" : ` of ${count(total)}`;
  return h(
    "details.hits",
    h(
      "summary",
      `${count(hits.length)}${of} ${hits.length === 1 ? "email" : "emails"}`,
      goldHits > 0 ? badge("gold among them") : null,
    ),
    h(
      "ol",
      ...hits.map((hit) =>
        h(
          "li",
          h("span.subject", untrustedInline(hit.subject ?? hit.messageId)),
          gold.has(hit.messageId) ? badge("gold") : null,
          hit.sender === null ? null : h("span.meta.from", untrustedInline(hit.sender), ` · ${minuteText(hit.date)}`),
          untrustedText(hit.snippet, "text snippet"),
          openInPlace(hit, mails),
        ),
      ),
    ),
  );
}

/** Opens a found email below its line, or is null if it is not available. */
function openInPlace({ messageId }: Hit, { known, load, card }: ShownMails): HTMLElement | null {
  const mail = known.get(messageId);
  if (mail === undefined && load === null) return null;
  const place = h("div");
  const show = (opened: MailView) => {
    replaceChildren(place, card(opened, [], true));
    place.querySelector("summary")?.focus();
  };
  const open = async () => {
    if (mail !== undefined) return show(mail);
    replaceChildren(place, h("p.meta", { role: "status" }, "Loading the email…"));
    try {
      show(await (load as NonNullable<LoadMail>)(messageId));
    } catch (error) {
      replaceChildren(place, h("p.error", { role: "alert" }, (error as Error).message));
    }
  };
  place.append(h("button.quiet", { click: () => void open() }, "Open the email"));
  return place;
}

/** Formats JSON in one line if it is short. */
function shownValue(value: unknown): string {
  if (typeof value === "string") return value;
  const line = JSON.stringify(value) ?? "";
  return line.length <= SHORT ? line : JSON.stringify(value, null, 2);
}

/** Number of recipients above which only the first ones are shown. */
const RECIPIENTS = 8;
const SHOWN_RECIPIENTS = 6;

/** An email with its headers and text, and with a passage marked, unless it is null. */
export function mailCard(
  mail: MailView,
  badges: readonly string[],
  open: boolean,
  passage: TextSpan | null,
): HTMLElement {
  const text = highlightedText(mail.body, passage === null ? [] : [passage], "text mail-text", "div");
  const scrollToMark = () => {
    // Only the text scrolls, because the top of the task must stay in view.
    const mark = text.querySelector("mark");
    if (mark !== null) text.scrollTop = mark.offsetTop - text.offsetTop - 40;
  };
  return h(
    "details.mail",
    { open, toggle: scrollToMark },
    h(
      "summary",
      h("span.subject", untrustedInline(mail.subject === "" ? "(no subject)" : mail.subject)),
      ...badges.map(badge),
      h("span.meta.from", untrustedInline(mail.sender), ` · ${minuteText(mail.date)}`),
    ),
    h("div.meta.to", "to ", mail.recipients.length === 0 ? "unknown recipients" : addressList(mail.recipients)),
    text,
    h("p.meta", untrustedInline(mail.messageId)),
  );
}

function badge(text: string): HTMLElement {
  return h("span", { class: `badge badge-${text.replace(/\s.*/, "")}` }, text);
}

/** Shows the first addresses and collapses the rest, because an email can have hundreds of recipients. */
export function addressList(addresses: readonly string[]): HTMLElement {
  if (addresses.length <= RECIPIENTS) return untrustedInline(addresses.join(", "));
  const rest = addresses.slice(SHOWN_RECIPIENTS);
  const summary = h(
    "summary",
    untrustedInline(addresses.slice(0, SHOWN_RECIPIENTS).join(", ")),
    ` and ${count(rest.length)} more`,
  );
  return h("details", summary, untrustedText(rest.join(", "), null));
}
