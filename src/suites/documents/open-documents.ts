import { createHash, randomUUID } from "node:crypto";
import { mkdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { TaskDocuments } from "../../domain/tasks/task-documents.js";
import { type DocumentFile, listRetrieved, listSuiteDocuments } from "./document-files.js";
import { buildIndex, DocumentIndex } from "./document-index.js";
import { pruneIndexes } from "./prune-indexes.js";

/** A changed index makes files of earlier ones useless. */
const LAYOUT = 1;

/** The documents of a suite, indexed when they are first searched, and once for all of its tasks. */
export class SuiteDocuments {
  #index: Promise<DocumentIndex | null> | null = null;
  readonly #closing = new AbortController();

  /**
   * `content`: the folder that holds `documents/`. `cacheFolder`: where the index is kept for the next time; null: in
   * memory.
   */
  constructor(
    private readonly content: string,
    private readonly cacheFolder: string | null,
  ) {}

  /** What one task's agent may search: what was retrieved for it comes first. Close it in the end. */
  open(taskFolder: string): TaskDocuments & { close(): Promise<void> } {
    let own: Promise<DocumentIndex | null> | null = null;
    const indexes = async (signal: AbortSignal): Promise<DocumentIndex[]> => {
      own ??= listRetrieved(taskFolder).then((files) => build(files, signal));
      // Of the suite and not of this task: others wait for it too.
      this.#index ??= this.#open(this.#closing.signal);
      const found = await untilAborted(Promise.all([own, this.#index]), signal);
      return found.filter((index) => index !== null);
    };
    return {
      async search(query, limit, signal) {
        const hits = (await indexes(signal)).flatMap((index) => index.search(query, limit));
        const [all, any] = (["all_words", "best_match"] as const).map((kind) =>
          hits.filter((hit) => hit.match === kind),
        );
        return [...(all ?? []), ...(any ?? [])].slice(0, limit);
      },
      async read(path, offset, signal) {
        for (const index of await indexes(signal)) {
          const page = index.read(path, offset);
          if (page !== null) return page;
        }
        return null;
      },
      async close() {
        (await own?.catch(() => null))?.close();
      },
    };
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the suite is closed"));
    (await this.#index?.catch(() => null))?.close();
  }

  async #open(signal: AbortSignal): Promise<DocumentIndex | null> {
    const files = await listSuiteDocuments(this.content);
    if (files.length === 0 || this.cacheFolder === null) return build(files, signal);
    const folder = join(this.cacheFolder, "documents");
    const path = join(folder, `${digestOf(files)}.sqlite`);
    if (await markUsed(path)) return openIndex(path);
    await mkdir(folder, { recursive: true });
    const part = `${path}.${randomUUID()}.part`;
    try {
      (await buildIndex(part, files, signal)).close();
      await rename(part, path);
    } finally {
      await rm(part, { force: true });
    }
    await pruneIndexes(folder);
    return openIndex(path);
  }
}

/** False where there is no such index. */
async function markUsed(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isFile()) return false;
  const now = new Date();
  // The cache may be another user's.
  await utimes(path, now, now).catch(() => undefined);
  return true;
}

/** Rejects with the abort's reason as soon as that comes; the work goes on for others. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

async function build(files: readonly DocumentFile[], signal: AbortSignal): Promise<DocumentIndex | null> {
  return files.length === 0 ? null : buildIndex(":memory:", files, signal);
}

function openIndex(path: string): DocumentIndex {
  return new DocumentIndex(new Database(path, { readonly: true, fileMustExist: true }));
}

function digestOf(files: readonly DocumentFile[]): string {
  const hash = createHash("sha256").update(String(LAYOUT));
  for (const { path, bytes, changedMs, file } of files) hash.update(JSON.stringify([path, file, bytes, changedMs]));
  return hash.digest("hex").slice(0, 32);
}
