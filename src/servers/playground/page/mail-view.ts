import { h, untrustedText } from "../../../reports/page/shared/dom.js";
import type { MailJson } from "./api-types.js";
import { get } from "./request.js";
import { mailArticle } from "./tool-call-card.js";

export async function mailView(page: HTMLElement, messageId: string): Promise<void> {
  const mail = await get<MailJson>(`/api/mails/${encodeURIComponent(messageId)}`);
  page.append(h("h2", {}, "Mail"), untrustedText(mail.message_id, "hint mono", "p"), mailArticle(mail));
}
