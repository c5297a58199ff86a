import { searchEmails } from "../builtin/art-tools.js";
import { emailSearch } from "../builtin/email-search.js";
import type { Handler } from "../tool-handler.js";

/**
 * The handlers that run on search threads: each takes milliseconds of SQLite. Reading one mail takes a fiftieth of
 * that, less than a call to a thread.
 */
export const SEARCH_HANDLERS: Readonly<Record<string, Handler>> = {
  email_search: emailSearch,
  search_emails: searchEmails,
};
