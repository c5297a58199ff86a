// Searches the documents that all tasks of a suite share.
import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type BetterSqlite3 from "better-sqlite3";
import { allWordsExpression, queryTokens, termExpression } from "../../mail/fts5-query.js";
import { htmlToText } from "../../mail/html-text.js";
import { untilAborted } from "../../platform/deadline.js";
import { decodeUtf8 } from "../../platform/files.js";
import { Database } from "../../store/sqlite.js";
import type { DocumentHit, DocumentPage, TaskDocuments } from "../../tasks/suite-task.js";
import { characterBoundary } from "../../text/character-boundary.js";

interface Row {
  readonly id: number;
  readonly path: string;
  readonly offset: number;
}

/** A file that might be a document. Agents see its path. */
interface DocumentFile {
  readonly path: string;
  readonly file: string;
  readonly bytes: number;
  readonly changedMs: number;
}

/** Version of the index layout. Increase it when the layout changes, because cached indexes then become useless. */
const LAYOUT = 2;

/** The documents of a suite, indexed once for all of its tasks, at the first search. */
export class SuiteDocuments {
  private index: Promise<DocumentIndex | null> | null = null;
  private readonly closing = new AbortController();

  /**
   * @param content the folder that contains `documents/`
   * @param cacheFolder where the index is kept for the next run, or null to keep it in memory
   */
  constructor(
    private readonly content: string,
    private readonly cacheFolder: string | null,
  ) {}

  /**
   * Opens the documents for one task's agent. Files that were retrieved for the task come first. The caller must close
   * it.
   */
  open(taskFolder: string): TaskDocuments & { close(): Promise<void> } {
    let own: Promise<DocumentIndex | null> | null = null;
    // On abort, the work continues for the others that wait for it.
    const indexes = (signal: AbortSignal): Promise<DocumentIndex[]> =>
      untilAborted(signal, async () => {
        own ??= listRetrieved(taskFolder).then((files) => build(files, signal));
        // Do not use this task's signal, because other tasks also wait for the suite's index.
        this.index ??= this.findIndex(this.closing.signal);
        return (await Promise.all([own, this.index])).filter((index) => index !== null);
      });
    return {
      async search(query, limit, signal) {
        const hits = (await indexes(signal)).flatMap((index) => index.search(query, limit));
        const of = (kind: DocumentHit["match"]) => hits.filter(({ match }) => match === kind);
        return [...of("all_words"), ...of("best_match")].slice(0, limit);
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
    this.closing.abort(new Error("the suite is closed"));
    (await this.index?.catch(() => null))?.close();
  }

  private async findIndex(signal: AbortSignal): Promise<DocumentIndex | null> {
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

/** Returns false if there is no such index. */
async function markUsed(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => null);
  if (stats === null || !stats.isFile()) return false;
  const now = new Date();
  // The cache might belong to another user.
  await utimes(path, now, now).catch(() => undefined);
  return true;
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

/** Maximum number of cached indexes. Keeps the most recently used ones. */
const KEPT = 8;
/** Milliseconds after which an unfinished index counts as abandoned by a killed program. */
const PART_MS = 86_400_000;

/** Removes unused indexes. An index that another program has open stays readable for it. */
async function pruneIndexes(folder: string): Promise<void> {
  const names = await readdir(folder);
  const files = await Promise.all(
    names.map(async (name) => ({ name, usedMs: (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0 })),
  );
  const parts = files.filter(({ name, usedMs }) => name.endsWith(".part") && usedMs < Date.now() - PART_MS);
  const indexes = files.filter(({ name }) => name.endsWith(".sqlite")).sort((a, b) => b.usedMs - a.usedMs);
  for (const { name } of [...parts, ...indexes.slice(KEPT)]) await rm(join(folder, name), { force: true });
}

/** Documents are indexed in parts of about this many characters. Each part ends at the end of a line. */
const PART_CHARS = 4_000;
const PAGE_CHARS = 20_000;
/** Documents per batch. Other work can run between batches. */
const BATCH = 100;
/** Maximum hits per document, so that one document does not hide all others. */
const MOST_OF_ONE = 2;
const SNIPPET_TOKENS = 48;
/** Maximum number of best matches from which the hits are chosen. */
const MOST_READ = 500;

const TABLES = `
  CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, length INTEGER NOT NULL);
  CREATE TABLE parts (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, start INTEGER NOT NULL, body TEXT NOT NULL);
  CREATE INDEX parts_in_order ON parts(document, start);
  CREATE VIRTUAL TABLE words USING fts5(
    path, body, content = 'indexed', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
  );
  CREATE VIEW indexed AS SELECT p.id, d.path, p.body FROM parts p JOIN documents d ON d.id = p.document;`;

/** Indexes the documents in a new database at `path`, which can be `:memory:`. */
async function buildIndex(path: string, files: readonly DocumentFile[], signal: AbortSignal): Promise<DocumentIndex> {
  const db = new Database(path);
  try {
    db.exec(TABLES);
    const addDocument = db.prepare("INSERT INTO documents (path, length) VALUES (?, ?)");
    const addPart = db.prepare("INSERT INTO parts (document, start, body) VALUES (?, ?, ?)");
    const addWords = db.prepare("INSERT INTO words (rowid, path, body) VALUES (?, ?, ?)");
    for (let from = 0; from < files.length; from += BATCH) {
      signal.throwIfAborted();
      const texts: [string, string][] = [];
      for (const file of files.slice(from, from + BATCH)) {
        const text = await readDocument(file);
        if (text !== null) texts.push([file.path, text]);
      }
      db.transaction(() => {
        for (const [name, text] of texts) {
          const document = addDocument.run(name, text.length).lastInsertRowid;
          for (const { start, body } of partsOf(text)) {
            addWords.run(addPart.run(document, start, body).lastInsertRowid, name, body);
          }
        }
      })();
    }
    return new DocumentIndex(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

function* partsOf(text: string): Generator<{ start: number; body: string }> {
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start + PART_CHARS);
    const isNear = newline !== -1 && newline < start + 2 * PART_CHARS;
    const end = isNear ? newline + 1 : characterBoundary(text, start + 2 * PART_CHARS);
    yield { start, body: text.slice(start, end) };
    start = end;
  }
}

/** Full-text index over the parts of documents. */
class DocumentIndex {
  constructor(private readonly db: BetterSqlite3.Database) {}

  /** Returns parts that contain all words. If there are too few, adds the best matches for any of the words. */
  search(query: string, limit: number): DocumentHit[] {
    const all = allWordsExpression(query);
    if (all === null) return [];
    const any = queryTokens(query).map(termExpression).join(" OR ");
    const seen = new Set<number>();
    const perDocument = new Map<string, number>();
    const hits: DocumentHit[] = [];
    for (const [expression, match] of [
      [all, "all_words"],
      [any, "best_match"],
    ] as const) {
      for (const { id, path, offset } of this.match(expression)) {
        if (hits.length >= limit) return hits;
        const count = perDocument.get(path) ?? 0;
        if (seen.has(id) || count >= MOST_OF_ONE) continue;
        seen.add(id);
        perDocument.set(path, count + 1);
        hits.push({ path, offset, snippet: this.snippet(expression, id), match });
      }
    }
    return hits;
  }

  read(path: string, offset: number): DocumentPage | null {
    const row = this.db.prepare("SELECT id, length FROM documents WHERE path = ?").get(path) as
      | { id: number; length: number }
      | undefined;
    if (row === undefined) return null;
    const parts = this.db
      .prepare("SELECT start, body FROM parts WHERE document = ? AND start > ? AND start < ? ORDER BY start")
      .all(row.id, offset - 2 * PART_CHARS, offset + PAGE_CHARS) as { start: number; body: string }[];
    const text = parts.map(({ body }) => body).join("");
    const from = Math.max(0, offset - (parts[0]?.start ?? offset));
    const content = text.slice(from, characterBoundary(text, from + PAGE_CHARS));
    const end = offset + content.length;
    return { path, content, offset, length: row.length, nextOffset: end < row.length ? end : null };
  }

  close(): void {
    this.db.close();
  }

  private match(expression: string): Row[] {
    return this.db
      .prepare<[string], Row>(
        `SELECT p.id, d.path, p.start AS offset
         FROM (SELECT rowid, bm25(words, 2.0, 1.0) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT ${MOST_READ}) w
         JOIN parts p ON p.id = w.rowid JOIN documents d ON d.id = p.document ORDER BY w.score, p.id`,
      )
      .all(expression);
  }

  /**
   * Returns a snippet, only for hits because it reads the text. The cast prevents FTS5 from reading all matches up to
   * this id, which it would do for a real number.
   */
  private snippet(expression: string, id: number): string {
    const sql = `SELECT snippet(words, 1, '', '', '…', ${SNIPPET_TOKENS}) FROM words WHERE words MATCH ? AND rowid = CAST(? AS INTEGER)`;
    return this.db.prepare<[string, number], string>(sql).pluck().get(expression, id) ?? "";
  }
}

const DOCUMENT_LIMITS = { files: 50_000, fileBytes: 4 * 2 ** 20, allBytes: 512 * 2 ** 20, depth: 16 } as const;

/** Name of the suite folder with the documents that agents can search. */
const DOCUMENTS = "documents";
/** Names of files in a task's folder that were retrieved for it, as opposed to its inputs and gold files. */
const RETRIEVED = /^retrieved[^/]*\.(?:txt|md|html?)$/i;
const GOLD = /gold|expected/i;

/** Returns the documents that all tasks of the suite share. `content` is the folder that contains `documents/`. */
export async function listSuiteDocuments(content: string): Promise<DocumentFile[]> {
  return withinLimits(await listEntry(join(content, DOCUMENTS), DOCUMENTS, 0));
}

/** Returns the files retrieved for one task: text files in its folder with such a name. */
async function listRetrieved(taskFolder: string): Promise<DocumentFile[]> {
  const entries = await readdir(taskFolder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  const retrieved = names.filter((name) => RETRIEVED.test(name) && !GOLD.test(name)).sort();
  return withinLimits((await Promise.all(retrieved.map((name) => listEntry(join(taskFolder, name), name, 0)))).flat());
}

/** Lists files without following links. Skips entries that are too large or too deep. */
async function listEntry(file: string, path: string, depth: number): Promise<DocumentFile[]> {
  const stat = await lstat(file).catch(() => null);
  if (stat === null || depth > DOCUMENT_LIMITS.depth) return [];
  if (stat.isFile()) {
    if (stat.size > DOCUMENT_LIMITS.fileBytes) return [];
    return [{ path, file, bytes: stat.size, changedMs: stat.mtimeMs }];
  }
  if (!stat.isDirectory()) return [];
  const files: DocumentFile[] = [];
  for (const name of (await readdir(file)).sort()) {
    for (const entry of await listEntry(join(file, name), `${path}/${name}`, depth + 1)) files.push(entry);
    if (files.length >= DOCUMENT_LIMITS.files) break;
  }
  return files;
}

function withinLimits(files: readonly DocumentFile[]): DocumentFile[] {
  let room: number = DOCUMENT_LIMITS.allBytes;
  return files.slice(0, DOCUMENT_LIMITS.files).filter(({ bytes }) => {
    room -= bytes;
    return room >= 0;
  });
}

/** Returns the document's text, or null if it is not UTF-8 or no longer a regular file. */
async function readDocument({ file, path }: DocumentFile): Promise<string | null> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size > DOCUMENT_LIMITS.fileBytes) return null;
    const bytes = await handle.readFile();
    const text = bytes.includes(0) ? null : decodeUtf8(bytes);
    if (text === null) return null;
    return /\.x?html?$/i.test(path) ? textOfHtml(text) : text;
  } catch {
    return null;
  }
}

/** Maximum number of open tags. No real document has that many, and the parser takes quadratic time for them. */
const MAX_OPEN_TAGS = 50_000;

/** Returns the text of an HTML document. The result is not safe to show as markup. */
function textOfHtml(html: string): string {
  let open = 0;
  for (const [, slash] of html.matchAll(/<(\/?)[a-z]/gi)) {
    open += slash === "" ? 1 : -1;
    if (open > MAX_OPEN_TAGS) return html.replace(/<[^<>]*>/g, " ");
  }
  return htmlToText(html).replaceAll("\u00a0", " ");
}
