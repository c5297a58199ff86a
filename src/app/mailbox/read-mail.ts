import { UserError } from "../../domain/errors.js";
import { openMailLookup, type StoredMail } from "../../store/search/mail-lookup.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

/** A mail by its Message-ID. */
export function readMail(messageId: string, settings: AppSettings): Promise<StoredMail> {
  return withStore(settings, (db) => {
    const mail = openMailLookup(db).get(messageId);
    if (mail !== null) return mail;
    throw new UserError(
      "mail_unknown",
      `There is no mail ${messageId} in ${settings.db}.`,
      "art-e search finds mails.",
    );
  });
}
