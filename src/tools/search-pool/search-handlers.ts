import { searchEmails } from "../builtin/art-search.js";
import { emailSearch } from "../builtin/email-search.js";
import type { Handler } from "../handler.js";

/**
 * The handlers that search the mail file: milliseconds of SQLite, to be called on a thread that has it open. (To read one
 * mail takes a fiftieth of that, less than it would take to ask a thread.)
 */
export const SEARCH_HANDLERS: Readonly<Record<string, Handler>> = {
  email_search: emailSearch,
  search_emails: searchEmails,
};
