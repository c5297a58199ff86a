import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { openMailLookup, type StoredMail } from "../../store/search/mail-lookup.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

/** A mail by its Message-ID. */
export function readMail(messageId: string, settings: AppSettings): Promise<StoredMail> {
  return withStore(settings, (db) => getMail(db, messageId));
}

/** The same from an open database. Throws a UserError where there is none. */
export function getMail(db: Db, messageId: string): StoredMail {
  const mail = openMailLookup(db).get(messageId);
  if (mail !== null) return mail;
  throw new UserError("mail_unknown", `There is no mail ${messageId} in ${db.name}.`, "art-e search finds mails.");
}
