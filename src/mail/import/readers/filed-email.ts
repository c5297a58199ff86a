// Where an email was filed: its path in the source and the owner of the folder.
import type { Email, FiledEmail, MailForm } from "../../email.js";

export interface MailLocation {
  readonly path: string;
  /** Place of the owner's account, or null if the email is not in a folder. */
  readonly owner: string | null;
}

/** Whether a path is from the CMU layout (`maildir/<owner>/<folder>/<n>.`). */
export function isCmuPath(path: string): boolean {
  return path.endsWith(".") && /\/\d+\.$/.test(path);
}

/**
 * Returns the path and the owner folder of an email. Removes a prefix up to `maildir` in the first two segments
 * (`enron_mail_20110402/maildir/lay-k/inbox/1.`). An email outside a folder does not have an owner.
 */
export function locateMail(path: string): MailLocation {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const root = segments.slice(0, 2).indexOf("maildir");
  const relative = segments.slice(root + 1);
  return { path: relative.join("/"), owner: relative.length > 1 ? (relative[0] ?? null) : null };
}

/** Like `locateMail`, but for the path in a row of a table. In the CMU layout, an owner is known by name alone. */
export function locateRow(path: string, table: string): MailLocation {
  const location = locateMail(path);
  if (location.owner === null || isCmuPath(path)) return location;
  return { ...location, owner: `${table.replace(SHARD, "")}/${location.owner}` };
}

/** The number of a data set's shard. */
const SHARD = /-\d+-of-\d+(?=\.[^/]*$)/;

/**
 * Adds its location, in place, to an email that a reader has just created. `inbox` is its mailbox's address if the
 * source contains it.
 */
export function fileEmail(
  email: Email,
  { path, owner }: MailLocation,
  form: MailForm,
  inbox: string | null = null,
): FiledEmail {
  return Object.assign(email, { path, owner, inbox, form });
}
