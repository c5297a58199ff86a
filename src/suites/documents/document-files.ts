import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { textOfHtml } from "./html-text.js";

/** A file that may be a document. Its path is what agents see. */
export interface DocumentFile {
  readonly path: string;
  readonly file: string;
  readonly bytes: number;
  readonly changedMs: number;
}

export const DOCUMENT_LIMITS = { files: 50_000, fileBytes: 4 * 2 ** 20, allBytes: 512 * 2 ** 20, depth: 16 } as const;

/** The name of the folder of a suite that holds what its agents may search. */
const DOCUMENTS = "documents";
/** Files of a task's own folder that were retrieved for it, and not its inputs or golds. */
const RETRIEVED = /^retrieved[^/]*\.(?:txt|md|html?)$/i;
const GOLD = /gold|expected/i;

/** Everything in the suite's folder of documents. */
export async function listSuiteDocuments(content: string): Promise<DocumentFile[]> {
  return withinLimits(await listEntry(join(content, DOCUMENTS), DOCUMENTS, 0));
}

/** What was retrieved for one task: text files of its folder whose names begin so. */
export async function listRetrieved(taskFolder: string): Promise<DocumentFile[]> {
  const entries = await readdir(taskFolder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  const retrieved = names.filter((name) => RETRIEVED.test(name) && !GOLD.test(name)).sort();
  return withinLimits((await Promise.all(retrieved.map((name) => listEntry(join(taskFolder, name), name, 0)))).flat());
}

/** Links are not followed; what is too large or too deep is left out. */
async function listEntry(file: string, path: string, depth: number): Promise<DocumentFile[]> {
  const stat = await lstat(file).catch(() => null);
  if (stat === null || depth > DOCUMENT_LIMITS.depth) return [];
  if (stat.isFile()) {
    if (stat.size > DOCUMENT_LIMITS.fileBytes) return [];
    return [{ path, file, bytes: stat.size, changedMs: stat.mtimeMs }];
  }
  if (!stat.isDirectory()) return [];
  const found: DocumentFile[] = [];
  for (const name of (await readdir(file)).sort()) {
    for (const entry of await listEntry(join(file, name), `${path}/${name}`, depth + 1)) found.push(entry);
    if (found.length >= DOCUMENT_LIMITS.files) break;
  }
  return found;
}

function withinLimits(files: readonly DocumentFile[]): DocumentFile[] {
  let room: number = DOCUMENT_LIMITS.allBytes;
  return files.slice(0, DOCUMENT_LIMITS.files).filter(({ bytes }) => {
    room -= bytes;
    return room >= 0;
  });
}

/** Null where it is not text in UTF-8, or no regular file any more. */
export async function readDocument({ file, path }: DocumentFile): Promise<string | null> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (handle === null) return null;
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size > DOCUMENT_LIMITS.fileBytes) return null;
    const bytes = await handle.readFile();
    if (bytes.includes(0)) return null;
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return /\.x?html?$/i.test(path) ? textOfHtml(text) : text;
  } catch {
    return null;
  } finally {
    await handle.close();
  }
}
