import { h } from "../../../../reports/page/shared/dom.js";
import { mailArticle } from "../tool-call-card.js";
import type { EvidenceJson } from "./review-types.js";

/** The mails that a question cites, what answers it marked. */
export function citedMails(mails: readonly EvidenceJson[]): HTMLElement {
  return h(
    "section",
    { class: "label-steps cited-mails", "aria-labelledby": "mails-title" },
    h("h3", { id: "mails-title" }, mails.length === 1 ? "The mail" : "The mails"),
    ...(mails.length === 0 ? [h("p", { class: "notice" }, "The question cites no mail.")] : mails.map(evidence)),
  );
}

/** Scrolls each mail to its marked passage. Once the mails are in the page. */
export function scrollToPassages(mails: HTMLElement): void {
  for (const mark of mails.querySelectorAll<HTMLElement>("pre mark")) {
    const body = mark.parentElement;
    if (body !== null) body.scrollTop = mark.offsetTop - body.clientHeight / 3;
  }
}

function evidence({ message_id: id, mail, is_cited: isCited, passage, ...lit }: EvidenceJson): HTMLElement {
  if (mail === null) {
    return h("p", { class: "notice bad" }, "Not in the database: ", h("code", {}, id));
  }
  const article = mailArticle(mail, { subject: lit.in_subject, body: lit.in_body });
  // Long mails scroll; whoever has no mouse can do it too.
  article.querySelector("pre")?.setAttribute("tabindex", "0");
  const notes = [
    ...(isCited ? [] : ["It came after the question, which is why there is no answer yet."]),
    ...(passage === "found" ? ["Marked is what is most like the answer."] : []),
  ];
  return h("div", { class: "notice" }, notes.length === 0 ? null : h("p", { class: "hint" }, notes.join(" ")), article);
}
