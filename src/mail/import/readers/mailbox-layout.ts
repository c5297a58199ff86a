// Finds the owner of a file from the layouts of mail programs and servers.
import { realpathSync } from "node:fs";
import { sep } from "node:path";
import { nameParts } from "../../owners.js";
import { isCmuPath, locateMail, type MailLocation } from "./filed-email.js";

export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

/**
 * Determines a file's owner, which is the place of its account: the source and the path of the outermost account folder
 * in it. Mail programs and servers keep the mailboxes of an account in one folder (Thunderbird's
 * `ImapMail/imap.example.com`, Takeout's `Mail`, a Maildir, an export from Apple Mail). An mbox anywhere else belongs
 * to an owner with the mbox's name, and any other email to one of the top folders. In the CMU layout, which is
 * published in several formats, an owner is known by name alone.
 */
export class MailboxLayout {
  /** Maps the paths of account folders to whether they own everything below them, or only mailbox files. */
  private readonly accounts = new Map<string, boolean>();
  /** Maps top folders to the depth of the first account in them. */
  private readonly depths = new Map<string, number>();
  /** Maps account paths to places. */
  private readonly places = new Map<string, string>();
  /** Archive folders already reported. */
  private readonly seen = new Set<string>();
  /** A source with a mailbox's name belongs to the account in its parent folder. */
  private readonly root: readonly string[];

  /**
   * @param source names of the source and its parent folders, the innermost last
   * @param kind `owner` if the source is one owner's folder, `stream` if its folders are not known in advance
   */
  constructor(
    private readonly source: readonly string[],
    private readonly kind: "folders" | "owner" | "stream" = "folders",
  ) {
    this.root = MAILBOX.test(source.at(-1) ?? "") ? source.slice(0, -1) : source;
  }

  /** Adds the entries of a folder. Call it before locating the folder's files. The path is relative to the source. */
  addFolder(path: string, entries: readonly FolderEntry[]): void {
    const hasFolder = (name: string) => entries.some((entry) => entry.isFolder && entry.name === name);
    if (hasFolder("cur") && hasFolder("new")) this.addMaildir(path);
    // A source that is a single mailbox.
    if (path === "" && this.root !== this.source && entries.some(({ isFolder }) => !isFolder)) this.add("", true);
    for (const { name, isFolder } of entries) {
      // Most files in a corpus have numbers as names.
      if (/^\d/.test(name)) continue;
      if (MAILBOX.test(isFolder ? name : name.replace(MBOX_EXTENSION, ""))) this.add(path, isFolder);
      // Apple Mail stores mailboxes as folders. So does Thunderbird for mailboxes with subfolders.
      else if (isFolder && /\.(?:mbox|sbd)$/i.test(name)) this.add(path, false);
    }
  }

  /** Adds the folders of a file in an archive if their names show that they are accounts. */
  addFoldersOf(path: string): void {
    const folder = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
    if (folder === "" || this.seen.has(folder)) return;
    this.seen.add(folder);
    const segments = folder.split("/");
    for (const [i, name] of segments.entries()) {
      const parent = segments.slice(0, i).join("/");
      this.addFolder(parent, [{ name, isFolder: true }]);
      if (name === TAKEOUT) this.add(join(parent, name), true);
    }
    if (/^(?:cur|new)$/.test(segments.at(-1) ?? "") && path !== `${folder}/`) {
      this.addMaildir(segments.slice(0, -1).join("/"));
    }
  }

  /** Adds a file in an archive if it could be an mbox. */
  addFile(path: string): void {
    const slash = path.lastIndexOf("/");
    this.addFolder(path.slice(0, Math.max(slash, 0)), [{ name: path.slice(slash + 1), isFolder: false }]);
  }

  /** Whether a file is next to the mailbox files of an account. */
  isMailbox(path: string): boolean {
    const account = this.accountOf(path);
    return account !== null && isInMailbox(account === "" ? path : path.slice(account.length + 1));
  }

  /** Returns the place of a file in the source. */
  placeOf(path: string): string {
    return [...this.source, path].join("/");
  }

  ofEmail(path: string): MailLocation {
    const plainPath = this.kind === "owner" ? `${this.source.at(-1)}/${path}` : path;
    if (isCmuPath(path)) return locateMail(plainPath);
    const inAccount = this.inAccount(path);
    if (inAccount !== null) return inAccount;
    const location = locateMail(plainPath);
    return location.owner === null ? location : { ...location, owner: this.topFolderOf(path) };
  }

  ofMboxEmail(path: string, number: number): MailLocation {
    const location = this.inAccount(path);
    if (location !== null) return { ...location, path: `${location.path}/${number}` };
    const segments = [...this.source, ...path.split("/")];
    // Apple Mail exports `Old.mbox/mbox`.
    if (segments.at(-1) === "mbox") segments.pop();
    const name = (segments.pop() ?? "").replace(/\.gz$/i, "").replace(/(?<=.)\.[^.]*$/, "");
    // A numbered file is a single email with a separator.
    return /^\d*$/.test(name) ? this.ofEmail(path) : { path: "", owner: [...segments, name].join("/") };
  }

  /** A Maildir is an account, unless it is one of an account's mailboxes (`INBOX`, or `.Sent` in Maildir++). */
  private addMaildir(path: string): void {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const isMailbox = path !== "" && (MAILBOX.test(name) || name.startsWith("."));
    this.add(isMailbox ? path.slice(0, Math.max(path.lastIndexOf("/"), 0)) : path, true);
  }

  private add(account: string, ownsAll: boolean): void {
    if (this.accounts.get(account) === true) return;
    this.accounts.set(account, ownsAll);
    const segments = account.split("/");
    const top = segments[0] as string;
    this.depths.set(top, Math.min(segments.length, this.depths.get(top) ?? segments.length));
  }

  private inAccount(path: string): MailLocation | null {
    const account = this.accountOf(path);
    if (account === null) return null;
    const owner = this.places.get(account) ?? this.folderPlace(account);
    this.places.set(account, owner);
    return { path: `${nameParts(owner).at(-1)}/${account === "" ? path : path.slice(account.length + 1)}`, owner };
  }

  /**
   * Returns the outermost account that has the file in one of its mailboxes, or null if the file is not in an account.
   */
  private accountOf(path: string): string | null {
    if (this.accounts.size === 0) return null;
    if (this.owns("", path)) return "";
    for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
      const folder = path.slice(0, at);
      if (this.owns(folder, path.slice(at + 1))) return folder;
    }
    return null;
  }

  private owns(folder: string, path: string): boolean {
    const ownsAll = this.accounts.get(folder);
    return ownsAll === true || (ownsAll === false && isInMailbox(path));
  }

  /**
   * Returns the top folder of a file outside an account. If the top folder contains accounts, this is the folder next
   * to them (`home/ann`).
   */
  private topFolderOf(path: string): string {
    if (this.kind === "owner") return this.folderPlace("");
    const folders = path.split("/").slice(0, -1);
    // In a stream, accounts can follow, so only the folder that contains the mail's folder is certain.
    const least = this.kind === "stream" ? Math.max(folders.length - 1, 1) : folders[0] === "maildir" ? 2 : 1;
    const depth = this.depths.get(folders[0] as string) ?? least;
    return this.folderPlace(folders.slice(0, depth).join("/"));
  }

  private folderPlace(folder: string): string {
    return [...this.root, ...(folder === "" ? [] : [folder])].join("/");
  }
}

const TAKEOUT = "Takeout";

/** Names that mail programs give to mailboxes, without the extension. */
const MAILBOX =
  /^\.?(?:inbox|sent|sent[ -](?:mail|items|messages)|outbox|drafts|templates|trash|junk|spam|unsent messages|deleted (?:items|messages)|all mail(?: including spam and trash)?)$/i;

const MBOX_EXTENSION = /(?:\.(?:mbox|mbx))?(?:\.gz)?$/i;

/** Whether a file in an account's folder is in one of its mailboxes, not in a folder that belongs to other owners. */
function isInMailbox(path: string): boolean {
  return !path.includes("/") || /^[^/]*\.(?:mbox|sbd)\/|\/(?:cur|new)\/[^/]*$/i.test(path);
}

function join(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** Returns the names of a source and its parent folders, the innermost last. */
export function sourceFolders(path: string): string[] {
  return realpathSync(path).split(sep);
}

/** Returns the folders of an archive's entries. Parts of a Takeout archive have the same ones. */
export function archiveFolders(place: string): string[] {
  const folders = place.split("/");
  const name = folders.pop() ?? "";
  const plain = name.replace(/\.(?:zip|tgz|tar|tar\.gz|gz)$/i, "").replace(/^(takeout-.*?)(?:-\d{1,3})+$/i, "$1");
  return [...folders, plain];
}
