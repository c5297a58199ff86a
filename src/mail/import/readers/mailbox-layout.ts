import { locateMail, type MailLocation } from "./filed-email.js";

export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
  /** Whether the entry is a folder with `cur` and `new`. */
  readonly isMaildir: () => boolean;
}

/**
 * Determines a file's owner from its folders. Mail programs keep the mailboxes of an account in one folder
 * (Thunderbird's `ImapMail/imap.example.com`, Takeout's `Mail`, an export from Apple Mail). The account owns all of
 * them, and the owner is named after the folder. An mbox anywhere else belongs to an owner with the mbox's name.
 */
export class MailboxLayout {
  /** Paths of account folders. */
  private readonly accounts = new Set<string>();
  /** Maps owner names to account paths. */
  private readonly names = new Map<string, string>();
  /** Archive folders already reported. */
  private readonly seen = new Set<string>();

  /** @param root names of the source and its parent folders, the innermost last */
  constructor(private readonly root: readonly string[]) {}

  /** Adds the entries of a folder. Call it before locating the folder's files. The path is relative to the source. */
  addFolder(path: string, entries: readonly FolderEntry[]): void {
    if (entries.some(isAccountEntry)) this.accounts.add(path);
  }

  /** Adds the folders of a file in an archive if their names show that they are accounts. */
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

  /** Adds a file in an archive if it could be an mbox. */
  addFile(path: string): void {
    const slash = path.lastIndexOf("/");
    this.addFolder(path.slice(0, Math.max(slash, 0)), [
      { name: path.slice(slash + 1), isFolder: false, isMaildir: () => false },
    ]);
  }

  isMailbox(path: string): boolean {
    return this.accountOf(path) !== null;
  }

  /** @param plainPath the path that contains the owner if the file is not in an account */
  ofEmail(path: string, plainPath: string): MailLocation {
    return this.inAccount(path) ?? locateMail(plainPath);
  }

  ofMboxEmail(path: string, plainPath: string, number: number): MailLocation {
    const location = this.inAccount(path);
    if (location !== null) return { ...location, path: `${location.path}/${number}` };
    const name = mboxName([...this.root.slice(-1), ...path.split("/")]);
    // A numbered file is a single email with a separator.
    return /^\d*$/.test(name) ? locateMail(plainPath) : { path: "", owner: name };
  }

  private inAccount(path: string): MailLocation | null {
    const account = this.accountOf(path);
    if (account === null) return null;
    const owner = this.nameOf(account);
    return { path: `${owner}/${account === "" ? path : path.slice(account.length + 1)}`, owner };
  }

  /**
   * Returns the outermost account that has the file in one of its mailboxes, or null if the file is not in an account.
   */
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

  /**
   * Returns the name of the account's folder. If two names are equal, the second is prefixed with its parent's name.
   */
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

const TAKEOUT = "Takeout";

/** Mail program folders that are not named after an account. */
const STRUCTURAL = /^(?:mail|imapmail|takeout|maildir|\.maildir|v\d+)$/i;

/** Names that mail programs give to mailboxes, without the extension. */
const MAILBOX =
  /^\.?(?:inbox|sent|sent[ -](?:mail|items|messages)|outbox|drafts|templates|trash|junk|spam|unsent messages|deleted (?:items|messages)|all mail(?: including spam and trash)?)$/i;

const MBOX_EXTENSION = /(?:\.(?:mbox|mbx))?(?:\.gz)?$/i;

function isAccountEntry({ name, isFolder, isMaildir }: FolderEntry): boolean {
  // Most files in a corpus have numbers as names.
  if (/^\d/.test(name)) return false;
  if (!isFolder) return MAILBOX.test(name.replace(MBOX_EXTENSION, ""));
  // Apple Mail stores mailboxes as folders. So does Thunderbird for mailboxes with subfolders.
  return /\.(?:mbox|sbd)$/i.test(name) || (MAILBOX.test(name) && isMaildir());
}

/** Whether a file in an account's folder is in one of its mailboxes, not in a folder that belongs to other owners. */
function isInMailbox(path: string): boolean {
  return !path.includes("/") || /^[^/]*\.(?:mbox|sbd)\/|\/(?:cur|new)\/[^/]*$/i.test(path);
}

/** Returns the name of an mbox without its extensions. Apple Mail exports `Old.mbox/mbox`. */
function mboxName(segments: readonly string[]): string {
  const file = segments.at(-1) ?? "";
  const name = file === "mbox" && segments.length > 1 ? (segments.at(-2) ?? "") : file;
  return name.replace(/\.gz$/i, "").replace(/(?<=.)\.[^.]*$/, "");
}

function join(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** Returns the owner's name from an archive's name, without its extensions or the part number of a Takeout archive. */
export function archiveName(name: string): string {
  return name.replace(/\.(?:zip|tgz|tar|tar\.gz|gz)$/i, "").replace(/^(takeout-.*?)(?:-\d{1,3})+$/i, "$1");
}
