import { type Hit, readToolResult, type ToolResultView } from "../../../reports/html/tool-results.js";
import { h, replaceChildren, untrustedText } from "../../../reports/page/shared/dom.js";
import { minuteText } from "../../../reports/page/shared/format.js";
import { highlightedText, type SpanJson } from "./highlighted-text.js";
import { factItems, mailLink } from "./tables.js";

export interface ToolCallCard {
  readonly element: HTMLDetailsElement;
  setResult(result: unknown): void;
}

/** One tool call: its arguments, and its result once that is known. */
export function toolCallCard(name: string, args: unknown): ToolCallCard {
  const state = h("span", { class: "state busy" }, "working");
  const body = h("div", { class: "result" });
  const summary = h(
    "summary",
    {},
    h("code", {}, name),
    " ",
    untrustedText(argumentText(args), "args", "span"),
    " ",
    state,
  );
  const element = h("details", { class: "call" }, summary, body);
  return {
    element,
    setResult(result) {
      const error = errorOf(result);
      state.className = error === null ? "state" : "state bad";
      if (error !== null) {
        state.textContent = "refused";
        replaceChildren(body, untrustedText(error, "bad", "p"));
        return;
      }
      const view = readToolResult(result);
      state.textContent = summaryOf(view);
      replaceChildren(body, resultElement(view, result));
      element.open = view.kind !== "other";
    },
  };
}

function errorOf(result: unknown): string | null {
  const { error } = (result ?? {}) as { readonly error?: unknown };
  return typeof error === "string" ? error : null;
}

function resultElement(view: ToolResultView, result: unknown): HTMLElement {
  switch (view.kind) {
    case "mail":
      return mailArticle(result as MailResult);
    case "hits":
      return hitList(view.hits);
    case "other":
      return untrustedText(JSON.stringify(view.value, null, 2) ?? "", "", "pre");
  }
}

function summaryOf(view: ToolResultView): string {
  if (view.kind === "mail") return "mail read";
  if (view.kind === "other") return "done";
  return view.hits.length === 1 ? "1 mail found" : `${view.hits.length} mails found`;
}

function hitList(hits: readonly Hit[]): HTMLElement {
  if (hits.length === 0) return h("p", { class: "hint" }, "Nothing found.");
  return h(
    "ol",
    { class: "hits" },
    ...hits.map(({ messageId, subject, sender, date, snippet }) =>
      h(
        "li",
        {},
        h("div", { class: "subject" }, mailLink(messageId, subject === null ? messageId : subject || "(no subject)")),
        sender === null
          ? null
          : h("div", { class: "hint" }, untrustedText(sender, "", "span"), " · ", minuteText(date)),
        untrustedText(snippet, "snippet"),
      ),
    ),
  );
}

/** A mail as tools return it; custom tools may leave fields out. */
interface MailResult {
  readonly subject?: string;
  readonly sender?: string;
  readonly from?: string;
  readonly to?: readonly string[] | string;
  readonly recipients?: readonly string[] | string;
  readonly cc?: readonly string[] | string;
  readonly bcc?: readonly string[] | string;
  readonly date?: string | null;
  readonly body: string;
}

/** Where a passage of a mail stands. */
interface LitPassage {
  readonly subject: readonly SpanJson[];
  readonly body: readonly SpanJson[];
}

const NOTHING_LIT: LitPassage = { subject: [], body: [] };

export function mailArticle(mail: MailResult, lit = NOTHING_LIT): HTMLElement {
  const { subject, sender, from, to, recipients, cc, bcc, date, body } = mail;
  const lines = [
    ["From", sender ?? from ?? ""],
    ["To", addressText(to ?? recipients)],
    ["Cc", addressText(cc)],
    ["Bcc", addressText(bcc)],
    ["Date", minuteText(date ?? null)],
  ] as const;
  return h(
    "article",
    { class: "mail" },
    highlightedText(subject || "(no subject)", lit.subject, "", "h4"),
    h("dl", {}, ...factItems(lines.filter(([, value]) => value !== ""))),
    highlightedText(body, lit.body, "body", "pre"),
  );
}

function addressText(addresses: readonly string[] | string | undefined): string {
  return typeof addresses === "string" ? addresses : (addresses ?? []).join(", ");
}

/** Arguments in one line, without the mailbox, which is the same in all calls. */
function argumentText(args: unknown): string {
  if (typeof args !== "object" || args === null) return String(args ?? "");
  return Object.entries(args)
    .filter(([name]) => name !== "inbox_id")
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
