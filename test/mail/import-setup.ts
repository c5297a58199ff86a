import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import type { BadEmail, CorpusSource } from "../../src/mail/email.js";
import { openCorpus } from "../../src/mail/import/corpus-formats.js";
import {
  type ImportProgress,
  type ImportRequest,
  type ImportSummary,
  importCorpus,
  prepareSource,
} from "../../src/mail/import/import-corpus.js";
import { type Db, openStore } from "../../src/store/open-store.js";

/** Imports into separate database files, and their contents. */

const ROOT = join(import.meta.dirname, "../..");
export const DEMO = join(ROOT, "fixtures/demo/maildir");
export const AUTHORED = join(ROOT, "fixtures/corpus/maildir");

/** A folder for the tests of one file, deleted afterwards with its databases. */
export function importFolder() {
  const folder = mkdtempSync(join(tmpdir(), "art-e-ingest-"));
  const open: Db[] = [];
  afterAll(() => {
    for (const db of open) db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    path: (name: string) => join(folder, name),
    write(name: string, content: string | Buffer): string {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    emptyDb(): Db {
      const db = openStore(join(folder, `${open.length}.db`), { mustExist: false });
      open.push(db);
      return db;
    },
  };
}

export interface Imported {
  readonly summary: ImportSummary;
  readonly skipped: readonly BadEmail[];
  readonly progress: readonly ImportProgress[];
}

export type ImportOptions = Partial<Omit<ImportRequest, "sources">> & {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ImportProgress) => unknown;
};

/** Imports a mail source, given by path or already open. */
export async function importFrom(db: Db, mail: string | CorpusSource, options: ImportOptions = {}): Promise<Imported> {
  const { signal = new AbortController().signal, onProgress, ...asked } = options;
  const skipped: BadEmail[] = [];
  const progress: ImportProgress[] = [];
  const name = typeof mail === "string" ? mail : "test";
  const corpus = typeof mail === "string" ? await openCorpus(mail, null) : mail;
  const request: ImportRequest = {
    sources: [{ name, source: prepareSource(corpus, asked.filter ?? "none") }],
    filter: "none",
    limit: 0,
    batchSize: 1000,
    ownerMap: new Map(),
    strict: false,
    onSkipped: (bad) => skipped.push(bad),
    ...asked,
  };
  const hear = (step: ImportProgress) => {
    progress.push(step);
    onProgress?.(step);
  };
  return { summary: await importCorpus(db, request, hear, signal), skipped, progress };
}

/** Sum of the counts of a summary. It must equal `read`. */
export function accountedFor({ stored, duplicates, skipped, dropped }: ImportSummary): number {
  const byRule = Object.values(dropped ?? {}).reduce((sum, mails) => sum + mails, 0);
  return stored + duplicates + skipped.mails + byRule;
}

/** Tables created with the file, or with time and id of an import: no content. */
const NO_CONTENT = new Set(["imports", "migrations", "agents", "tools"]);

/** The number of rows of every other table, and their digest. */
export function contentOf(db: Db): Record<string, string> {
  const tables = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .pluck()
    .all() as string[];
  return Object.fromEntries(
    tables.filter((table) => !NO_CONTENT.has(table)).map((table) => [table, digest(db, table)]),
  );
}

function digest(db: Db, table: string): string {
  const rows = db.prepare(`SELECT * FROM "${table}"`).raw().all();
  const texts = rows.map((row) => JSON.stringify(row)).sort();
  return `${texts.length} rows, ${createHash("sha256").update(texts.join("\n")).digest("hex")}`;
}

/** A plain-text email with these fields. */
export function mailText(fields: Readonly<Record<string, string>>, body = "Hello."): string {
  const header = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
  return `${header.join("")}\n${body}\n`;
}
