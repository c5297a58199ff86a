import { locateMail, type MailLocation } from "./batches.js";

/**
 * Whose mail a file is, judged by the folders around it. Mail programs keep the mailboxes of an account in one folder
 * (Thunderbird's `ImapMail/imap.example.com`, Takeout's `Mail`, an export of Apple Mail): the account is the owner of
 * all of them, and the folder's name is the owner's. An mbox anywhere else belongs to the owner that it is named after.
 */
export class MailboxLayout {
  /** Paths of account folders. */
  private readonly accounts = new Set<string>();
  /** Owner name to the path of its account. */
  private readonly names = new Map<string, string>();
  /** Folders of an archive that were reported. */
  private readonly seen = new Set<string>();

  /** @param root names of the source and of the folders above it, the innermost last */
  constructor(private readonly root: readonly string[]) {}

  /** Reports what a folder contains, before its files are located. The path is relative to the source. */
  addFolder(path: string, entries: readonly FolderEntry[]): void {
    if (entries.some(isAccountEntry)) this.accounts.add(path);
  }

  /** Reports the folders of a file of an archive, as far as their names show accounts. */
  addFoldersOf(path: string): void {
    const folder = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
    if (folder === "" || this.seen.has(folder)) return;
    this.seen.add(folder);
    const segments = folder.split("/");
    for (const [i, name] of segments.entries()) {
      const parent = segments.slice(0, i).join("/");
      this.addFolder(parent, [{ name, isFolder: true, isMaildir: () => false }]);
      if (name === TAKEOUT) this.accounts.add(join(parent, name));
    }
  }

  /** Reports a file of an archive that may be an mbox. */
  addFile(path: string): void {
    const slash = path.lastIndexOf("/");
    this.addFolder(path.slice(0, Math.max(slash, 0)), [
      { name: path.slice(slash + 1), isFolder: false, isMaildir: () => false },
    ]);
  }

  /** Whether a file is in an account. */
  isMailbox(path: string): boolean {
    return this.accountOf(path) !== null;
  }

  /** @param plainPath the path from which the owner is read if the file is not in an account */
  ofEmail(path: string, plainPath: string): MailLocation {
    return this.inAccount(path) ?? locateMail(plainPath);
  }

  ofMboxEmail(path: string, plainPath: string, number: number): MailLocation {
    const location = this.inAccount(path);
    if (location !== null) return { ...location, path: `${location.path}/${number}` };
    const name = mboxName([...this.root.slice(-1), ...path.split("/")]);
    // A numbered file is one email with a separator.
    return /^\d*$/.test(name) ? locateMail(plainPath) : { path: "", owner: name };
  }

  private inAccount(path: string): MailLocation | null {
    const account = this.accountOf(path);
    if (account === null) return null;
    const owner = this.nameOf(account);
    return { path: `${owner}/${account === "" ? path : path.slice(account.length + 1)}`, owner };
  }

  /** The outermost account that has the file in one of its mailboxes. */
  private accountOf(path: string): string | null {
    if (this.accounts.size === 0) return null;
    if (this.accounts.has("") && isInMailbox(path)) return "";
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
      const folder = path.slice(0, at);
      if (!this.accounts.has(folder)) continue;
      if (/(?:^|\/)Takeout$/.test(folder) || isInMailbox(path.slice(at + 1))) return folder;
    }
    return null;
  }

  /** The name of the account's folder. Of equal names the second gets its parent's name in front. */
  private nameOf(account: string): string {
    const folders = [...this.root, ...(account === "" ? [] : account.split("/"))];
    let end = folders.length;
    while (end > 1 && STRUCTURAL.test(folders[end - 1] ?? "")) end--;
    const last = folders[end - 1] ?? "";
    let name = last;
    for (let start = end - 2; (this.names.get(name) ?? account) !== account && start >= 0; start--) {
      name = `${folders[start]}/${name}`;
    }
    this.names.set(name, account);
    return name;
  }
}

export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
  /** Whether it is a folder with `cur` and `new`. */
  readonly isMaildir: () => boolean;
}

const TAKEOUT = "Takeout";

/** Folders of mail programs that are not named after an account. */
const STRUCTURAL = /^(?:mail|imapmail|takeout|maildir|\.maildir|v\d+)$/i;

/** Names that mail programs give to mailboxes, without the extension. */
const MAILBOX =
  /^\.?(?:inbox|sent|sent[ -](?:mail|items|messages)|outbox|drafts|templates|trash|junk|spam|unsent messages|deleted (?:items|messages)|all mail(?: including spam and trash)?)$/i;

const MBOX_EXTENSION = /(?:\.(?:mbox|mbx))?(?:\.gz)?$/i;

function isAccountEntry({ name, isFolder, isMaildir }: FolderEntry): boolean {
  // Most files of a corpus are numbered.
  if (/^\d/.test(name)) return false;
  if (!isFolder) return MAILBOX.test(name.replace(MBOX_EXTENSION, ""));
  // Apple Mail's mailboxes are folders, and so are those with sub-folders in Thunderbird.
  return /\.(?:mbox|sbd)$/i.test(name) || (MAILBOX.test(name) && isMaildir());
}

/** Whether a file in the folder of an account is in one of its mailboxes, and not in a folder that has other owners. */
function isInMailbox(path: string): boolean {
  return !path.includes("/") || /^[^/]*\.(?:mbox|sbd)\/|\/(?:cur|new)\/[^/]*$/i.test(path);
}

/** The name of an mbox without its extensions. Apple Mail exports `Old.mbox/mbox`. */
function mboxName(segments: readonly string[]): string {
  const file = segments.at(-1) ?? "";
  const name = file === "mbox" && segments.length > 1 ? (segments.at(-2) ?? "") : file;
  return name.replace(/\.gz$/i, "").replace(/(?<=.)\.[^.]*$/, "");
}

function join(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** The name of an archive as that of an owner: without extensions, and without the number of a part of a Takeout. */
export function archiveName(name: string): string {
  return name.replace(/\.(?:zip|tgz|tar|tar\.gz|gz)$/i, "").replace(/^(takeout-.*?)(?:-\d{1,3})+$/i, "$1");
}
