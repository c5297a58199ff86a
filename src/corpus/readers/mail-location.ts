export interface MailLocation {
  readonly path: string;
  readonly owner: string | null;
}

/**
 * Path and owner folder of a mail. A prefix up to `maildir` in the first two segments is removed
 * (`enron_mail_20110402/maildir/lay-k/inbox/1.`). A mail outside of folders has no owner.
 */
export function locateMail(path: string): MailLocation {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  const root = segments.slice(0, 2).indexOf("maildir");
  const kept = segments.slice(root + 1);
  return { path: kept.join("/"), owner: kept.length > 1 ? (kept[0] ?? null) : null };
}
