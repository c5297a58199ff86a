import type { MailView } from "../page/report-data.js";

/** A tool result, classified by its shape as in scoring, whatever the tool is called. */
export type ToolResultView =
  | { readonly kind: "hits"; readonly hits: readonly Hit[]; readonly total: number | null }
  | { readonly kind: "mail"; readonly mail: MailView }
  | { readonly kind: "other"; readonly value: unknown };

/** A mail in a list of search results. */
export interface Hit {
  readonly messageId: string;
  readonly subject: string | null;
  readonly sender: string | null;
  readonly date: string | null;
  readonly snippet: string;
}

export function readToolResult(value: unknown): ToolResultView {
  const list = Array.isArray(value) ? value : isRecord(value) ? value.emails : undefined;
  if (Array.isArray(list) && list.every((item) => isRecord(item) && typeof item.message_id === "string")) {
    return { kind: "hits", hits: list.map(toHit), total: isRecord(value) ? numberOf(value.total) : null };
  }
  if (isRecord(value) && typeof value.message_id === "string" && typeof value.body === "string") {
    const recipients = [value.to, value.cc, value.bcc].flatMap((each) => (Array.isArray(each) ? each.map(String) : []));
    return {
      kind: "mail",
      mail: {
        messageId: value.message_id,
        subject: textOf(value.subject) ?? "",
        sender: textOf(value.sender) ?? "",
        recipients,
        date: textOf(value.date),
        body: value.body,
      },
    };
  }
  return { kind: "other", value };
}

function toHit(item: Readonly<Record<string, unknown>>): Hit {
  return {
    messageId: String(item.message_id),
    subject: textOf(item.subject),
    sender: textOf(item.sender),
    date: textOf(item.date),
    snippet: textOf(item.snippet) ?? "",
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
