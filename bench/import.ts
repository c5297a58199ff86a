import { spawnSync } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Database } from "../src/store/sqlite.js";
import { median } from "./quantiles.js";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const JITI = join(ROOT, "node_modules/jiti/lib/jiti-cli.mjs");
/** Prints the peak memory of its process, as measured by the operating system, when the process ends. */
const REPORTER = `data:text/javascript,process.on("exit", () => process.stderr.write("\\npeak " + process.resourceUsage().maxRSS))`;
const NODE = [process.execPath, "--import", REPORTER];

interface Importer {
  readonly name: string;
  readonly command: (csv: string, db: string) => string[];
}

const script = (name: string) => (csv: string, db: string) => [...NODE, JITI, join(ROOT, `bench/${name}.ts`), csv, db];

/** Every import is a separate process, from the same file. docs/performance.md describes the differences. */
const IMPORTS = {
  naive: { name: "naive: MIME library, a commit per 100, FTS triggers", command: script("naive-import") },
  plain: { name: "plain bulk load: header split, index at the end", command: script("plain-import") },
  art: hasPython()
    ? {
        name: `ART's way, in Python${hasMailParser() ? " with mail-parser" : ""}: filtered, index at the end`,
        command: (csv, db) => ["python3", join(ROOT, "bench/art-import.py"), csv, db],
      }
    : { name: "ART's way, not in Python: filtered, index at the end", command: script("art-import") },
  ours: {
    name: "art-e",
    command: (csv, db) => [...NODE, join(ROOT, "bin/art-e.js"), "import", csv, "--db", db, "--quiet"],
  },
} satisfies Record<string, Importer>;

/** The library that ART uses to parse mail. */
function hasMailParser(): boolean {
  return spawnSync("python3", ["-c", "import mailparser"]).status === 0;
}

/** A Python with FTS5 in its SQLite. */
function hasPython(): boolean {
  const code = "import sqlite3; sqlite3.connect(':memory:').execute('CREATE VIRTUAL TABLE t USING fts5(x)')";
  return spawnSync("python3", ["-c", code]).status === 0;
}

export type ImportKind = keyof typeof IMPORTS;
export const IMPORT_KINDS = Object.keys(IMPORTS) as ImportKind[];

/** The database of each import. */
export type ImportFiles = Readonly<Record<ImportKind, string>>;

interface ImportLine {
  readonly kind: ImportKind;
  readonly name: string;
  readonly seconds: number;
  /** Read emails, whatever happened to them. */
  readonly mailsPerSecond: number;
  readonly peakMegabytes: number;
  readonly fileMegabytes: number;
  /** Message-IDs that can be looked up afterwards. */
  readonly messageIds: number;
}

export interface ImportBench {
  readonly mails: number;
  readonly lines: readonly ImportLine[];
}

/** Imports in each of the ways in turn, `runs` times. The files are kept for the search. */
export function benchImport(csv: string, files: ImportFiles, runs: number): ImportBench {
  const measured = IMPORT_KINDS.map((kind) => ({ kind, figures: [] as Measured[] }));
  for (let run = 0; run < runs; run++) {
    for (const { kind, figures } of measured)
      figures.push(measure(IMPORTS[kind].command(csv, files[kind]), files[kind]));
  }
  // The naive file has one row per read email.
  const mails = countIds(files.naive);
  return { mails, lines: measured.map(({ kind, figures }) => toLine(kind, figures, mails, countIds(files[kind]))) };
}

export function importOurs(csv: string, db: string): void {
  measure(IMPORTS.ours.command(csv, db), db);
}

interface Measured {
  readonly seconds: number;
  readonly peakMegabytes: number;
  readonly fileMegabytes: number;
}

function measure([program = "", ...args]: readonly string[], file: string): Measured {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(file + suffix, { force: true });
  const started = performance.now();
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  const seconds = (performance.now() - started) / 1000;
  if (status !== 0) throw new Error(`the import failed: ${stderr}`);
  return {
    seconds,
    peakMegabytes: Number(/peak (\d+)\s*$/.exec(stderr)?.[1]) / 1024,
    fileMegabytes: statSync(file).size / 1e6,
  };
}

function toLine(kind: ImportKind, figures: readonly Measured[], mails: number, messageIds: number): ImportLine {
  const of = (name: keyof Measured) => median(figures.map((figure) => figure[name]));
  const seconds = of("seconds");
  return {
    kind,
    name: IMPORTS[kind].name,
    seconds,
    mailsPerSecond: mails / seconds,
    peakMegabytes: of("peakMegabytes"),
    fileMegabytes: of("fileMegabytes"),
    messageIds,
  };
}

function countIds(file: string): number {
  const db = new Database(file, { readonly: true });
  const mails = db.prepare("SELECT count(*) FROM emails").pluck().get() as number;
  db.close();
  return mails;
}
