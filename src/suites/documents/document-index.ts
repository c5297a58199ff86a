import Database from "better-sqlite3";
import type { DocumentHit, DocumentPage } from "../../domain/tasks/task-documents.js";
import { allWordsExpression, queryTokens, termExpression } from "../../store/search/fts-query.js";
import { type DocumentFile, readDocument } from "./document-files.js";

/** Documents are found by parts of about this many characters, which end where a line does. */
const PART_CHARS = 4_000;
const PAGE_CHARS = 20_000;
/** Between two of these batches other work is done. */
const BATCH = 100;
/** Of one document among the hits of a search, so that it does not hide all others. */
const MOST_OF_ONE = 2;
const SNIPPET_TOKENS = 48;
/** Best matches among which a search's hits are chosen. */
const MOST_READ = 500;

const TABLES = `
  CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, length INTEGER NOT NULL);
  CREATE TABLE parts (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, start INTEGER NOT NULL, body TEXT NOT NULL);
  CREATE INDEX parts_in_order ON parts(document, start);
  CREATE VIRTUAL TABLE words USING fts5(
    path, body, content = 'indexed', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
  );
  CREATE VIEW indexed AS SELECT p.id, d.path, p.body FROM parts p JOIN documents d ON d.id = p.document;`;

/** Reads the documents into a new index at `path`, which may be `:memory:`. */
export async function buildIndex(
  path: string,
  files: readonly DocumentFile[],
  signal: AbortSignal,
): Promise<DocumentIndex> {
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
    const end = isNear ? newline + 1 : endBetweenCharacters(text, start + 2 * PART_CHARS);
    yield { start, body: text.slice(start, end) };
    start = end;
  }
}

/** `end`, or one less where that would lie between the two halves of a character. */
function endBetweenCharacters(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code <= 0xdfff ? end - 1 : end;
}

interface Row {
  readonly id: number;
  readonly path: string;
  readonly offset: number;
}

/** Full-text search over documents, by parts of them. */
export class DocumentIndex {
  constructor(private readonly db: Database.Database) {}

  /** Parts with all words first; where there are too few, those that match best on any word. */
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
      for (const { id, path, offset } of this.#match(expression)) {
        if (hits.length >= limit) return hits;
        const count = perDocument.get(path) ?? 0;
        if (seen.has(id) || count >= MOST_OF_ONE) continue;
        seen.add(id);
        perDocument.set(path, count + 1);
        hits.push({ path, offset, snippet: this.#snippet(expression, id), match });
      }
    }
    return hits;
  }

  read(path: string, offset: number): DocumentPage | null {
    const found = this.db.prepare("SELECT id, length FROM documents WHERE path = ?").get(path) as
      | { id: number; length: number }
      | undefined;
    if (found === undefined) return null;
    const parts = this.db
      .prepare("SELECT start, body FROM parts WHERE document = ? AND start > ? AND start < ? ORDER BY start")
      .all(found.id, offset - 2 * PART_CHARS, offset + PAGE_CHARS) as { start: number; body: string }[];
    const text = parts.map(({ body }) => body).join("");
    const from = Math.max(0, offset - (parts[0]?.start ?? offset));
    const content = text.slice(from, endBetweenCharacters(text, from + PAGE_CHARS));
    const end = offset + content.length;
    return { path, content, offset, length: found.length, nextOffset: end < found.length ? end : null };
  }

  close(): void {
    this.db.close();
  }

  #match(expression: string): Row[] {
    return this.db
      .prepare<[string], Row>(
        `SELECT p.id, d.path, p.start AS offset
         FROM (SELECT rowid, bm25(words, 2.0, 1.0) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT ${MOST_READ}) w
         JOIN parts p ON p.id = w.rowid JOIN documents d ON d.id = p.document ORDER BY w.score, p.id`,
      )
      .all(expression);
  }

  /** Made for the hits only, since it reads the text. Cast, as FTS5 would read all matches up to a real. */
  #snippet(expression: string, id: number): string {
    const sql = `SELECT snippet(words, 1, '', '', '…', ${SNIPPET_TOKENS}) FROM words WHERE words MATCH ? AND rowid = CAST(? AS INTEGER)`;
    return this.db.prepare<[string, number], string>(sql).pluck().get(expression, id) ?? "";
  }
}
