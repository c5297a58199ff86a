import { count } from "../../text/format-number.js";
import type { MailView } from "../report-data.js";
import { type Child, h, untrustedInline, untrustedText } from "../shared/dom.js";
import { minuteText } from "../shared/format.js";

/** Recipients listed by name; the rest are counted. */
const RECIPIENTS = 6;

/** A mail with its headers and its text. */
export function mailCard(mail: MailView, badges: readonly string[], open: boolean): HTMLElement {
  return h(
    "details",
    { class: "mail", open },
    h(
      "summary",
      {},
      h("span", { class: "subject" }, untrustedInline(mail.subject === "" ? "(no subject)" : mail.subject)),
      ...badges.map(badge),
      h("span", { class: "from" }, untrustedInline(mail.sender), ` · ${minuteText(mail.date)}`),
    ),
    h("p", { class: "to" }, "to ", ...recipients(mail.recipients)),
    untrustedText(mail.body, "text mail-text"),
    h("p", { class: "message-id" }, untrustedInline(mail.messageId)),
  );
}

export function badge(text: string): HTMLElement {
  return h("span", { class: `badge badge-${text.replace(/\s.*/, "")}` }, text);
}

function recipients(addresses: readonly string[]): Child[] {
  if (addresses.length === 0) return ["nobody named"];
  const named = addresses
    .slice(0, RECIPIENTS)
    .flatMap((address, i) => [i === 0 ? null : ", ", untrustedInline(address)]);
  const more = addresses.length - RECIPIENTS;
  return more > 0 ? [...named, ` and ${count(more)} more`] : named;
}
