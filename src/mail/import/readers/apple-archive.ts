// Reads Apple Mail's emails with separate attachments (`Messages/9.partial.emlx` and `Attachments/9/2/plan.pdf`) out of
// an archive. An archive is a stream in any order, so both are unpacked to a temporary folder and read at its end.
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ReadItems } from "./batch-mails.js";
import { diskFile, type MailFile } from "./mail-file.js";
import { isSystemError, UnpackFailed } from "./source-errors.js";

type ReadEntry = (entry: MailFile) => ReadItems;

const PARTIAL_EMAIL = /^(?<folder>.*\/)?Messages\/(?<file>\d+\.partial\.emlx)$/i;
const ATTACHMENT = /^(?<folder>.*\/)?(?<file>Attachments\/\d+\/\d+(?:\.\d+)*)\/[^./][^/]*$/;

/** Returns whether an entry might belong to an email with separate attachments. */
export function isAppleEntry(path: string): boolean {
  return (path.endsWith(".emlx") && PARTIAL_EMAIL.test(path)) || isAppleAttachment(path);
}

/** Returns whether a path might be that of a separate attachment. */
export function isAppleAttachment(path: string): boolean {
  return path.includes("Attachments/") && ATTACHMENT.test(path);
}

/**
 * Reads the entries of an archive with `readEntry`, which then finds the attachments of an email on disk.
 * @param readAll reads the archive and passes its entries on
 * @param reportDamage adds a damaged entry to the items
 */
export async function* withAppleEntries(
  readAll: (readEntry: ReadEntry) => ReadItems,
  readEntry: ReadEntry,
  reportDamage: (entry: MailFile, items: ReadItems) => ReadItems,
): ReadItems {
  const unpacked = new UnpackedEntries();
  try {
    yield* readAll((entry) =>
      isAppleEntry(entry.place.full) ? reportDamage(entry, unpacked.add(entry)) : readEntry(entry),
    );
    for (const entry of unpacked.toRead()) yield* readEntry(entry);
  } finally {
    await unpacked.remove();
  }
}

class UnpackedEntries {
  private root: string | null = null;
  /** A folder on disk per folder of the archive. */
  private readonly folders = new Map<string, string>();
  private readonly emails: MailFile[] = [];
  private readonly attachments: { readonly folder: string; readonly entry: MailFile }[] = [];
  private readonly mailFolders = new Set<string>();

  /** Unpacks an entry. Yields nothing. */
  async *add(entry: MailFile): ReadItems {
    const path = entry.place.full;
    const email = PARTIAL_EMAIL.exec(path)?.groups;
    const { folder = "", file = "" } = email ?? ATTACHMENT.exec(path)?.groups ?? {};
    const name = email === undefined ? join(file, String(this.attachments.length)) : join("Messages", file);
    const target = await this.unpack(entry, folder, name).catch((error: unknown) => {
      throw isSystemError(error) ? new UnpackFailed(entry.where, tmpdir(), error) : error;
    });
    const { chunks } = diskFile(target, entry.size, entry.where, entry.place, () => undefined);
    const unpacked = { ...entry, disk: target, chunks };
    if (email === undefined) {
      this.attachments.push({ folder, entry: unpacked });
    } else {
      this.emails.push(unpacked);
      this.mailFolders.add(folder);
    }
  }

  /** Returns the emails, and the entries that only looked like their attachments. */
  toRead(): MailFile[] {
    const others = this.attachments.filter(({ folder }) => !this.mailFolders.has(folder));
    return [...this.emails, ...others.map(({ entry }) => entry)];
  }

  async remove(): Promise<void> {
    if (this.root !== null) await rm(this.root, { recursive: true, force: true });
  }

  /** Returns the path on disk. */
  private async unpack(entry: MailFile, folder: string, name: string): Promise<string> {
    const target = join(await this.folderFor(folder), name);
    await mkdir(dirname(target), { recursive: true });
    await pipeline(entry.chunks(), createWriteStream(target));
    return target;
  }

  private async folderFor(folder: string): Promise<string> {
    this.root ??= await mkdtemp(join(tmpdir(), "art-e-archive-"));
    const onDisk = this.folders.get(folder) ?? join(this.root, String(this.folders.size));
    this.folders.set(folder, onDisk);
    return onDisk;
  }
}
