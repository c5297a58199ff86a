import { emailGet } from "./email-get.js";
import { emailSearch } from "./email-search.js";
import type { Handler } from "./handler.js";
import { searchEmails } from "./search-emails.js";

/** The handlers that do nothing but read the mail file: they can be called on any thread that has it open. */
export const MAIL_HANDLERS: Readonly<Record<string, Handler>> = {
  email_search: emailSearch,
  email_get: emailGet,
  search_emails: searchEmails,
};
