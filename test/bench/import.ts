import { spawnSync } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { median } from "./quantiles.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const JITI = join(ROOT, "node_modules/jiti/lib/jiti-cli.mjs");

export interface ImportFigures {
  readonly seconds: number;
  readonly mailsPerSecond: number;
  readonly peakMegabytes: number;
  readonly fileMegabytes: number;
}

export interface ImportBench {
  readonly mails: number;
  readonly ours: ImportFigures;
  readonly naive: ImportFigures;
  /** Naive seconds over ours. */
  readonly speedup: number;
  /** Our file over the naive one. */
  readonly fileRatio: number;
}

/** Both imports as whole processes, in turn, the files kept for the search. */
export function benchImport(csv: string, files: { ours: string; naive: string }, runs: number): ImportBench {
  const ours: Measured[] = [];
  const naive: Measured[] = [];
  for (let run = 0; run < runs; run++) {
    ours.push(measure([join(ROOT, "bin/art-e.js"), "import", csv, "--db", files.ours, "--quiet"], files.ours));
    naive.push(measure([JITI, join(ROOT, "test/bench/naive-import.ts"), csv, files.naive], files.naive));
  }
  const mails = countMails(files.naive);
  const [a, b] = [middle(ours, mails), middle(naive, mails)];
  return { mails, ours: a, naive: b, speedup: b.seconds / a.seconds, fileRatio: a.fileMegabytes / b.fileMegabytes };
}

/** Prints the peak memory of the process it is loaded into, as the operating system counted it, when it ends. */
const REPORTER = `data:text/javascript,process.on("exit", () => process.stderr.write("\\npeak " + process.resourceUsage().maxRSS))`;

type Measured = Omit<ImportFigures, "mailsPerSecond">;

function measure(args: readonly string[], file: string): Measured {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(file + suffix, { force: true });
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ["--import", REPORTER, ...args], { encoding: "utf8" });
  const seconds = (performance.now() - started) / 1000;
  if (status !== 0) throw new Error(`the import failed: ${stderr}`);
  return {
    seconds,
    peakMegabytes: Number(/peak (\d+)\s*$/.exec(stderr)?.[1]) / 1024,
    fileMegabytes: statSync(file).size / 1e6,
  };
}

function middle(figures: readonly Measured[], mails: number): ImportFigures {
  const of = (name: keyof Measured) => median(figures.map((figure) => figure[name]));
  const seconds = of("seconds");
  return {
    seconds,
    mailsPerSecond: mails / seconds,
    peakMegabytes: of("peakMegabytes"),
    fileMegabytes: of("fileMegabytes"),
  };
}

/** The naive file has a row for every mail read. */
function countMails(naive: string): number {
  const db = new Database(naive, { readonly: true });
  const mails = db.prepare("SELECT count(*) FROM emails").pluck().get() as number;
  db.close();
  return mails;
}
