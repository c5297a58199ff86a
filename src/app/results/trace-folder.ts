import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { UserError } from "../../domain/errors.js";
import { traceFile } from "../../reports/html/packed-trace.js";

const NOTE = "READ-ME.txt";
const NOTE_START = "Conversations of";

/** The folder of conversations of `report.html` is `report-traces`. */
export function traceFolderOf(output: string): string {
  return join(dirname(output), `${basename(output).replace(/\.html?$/i, "")}-traces`);
}

/** Refuses to replace a folder that has anything but the conversations of an earlier report. */
export function checkTraceFolder(folder: string): void {
  if (!existsSync(folder)) return;
  const names = readdirSync(folder);
  if (names.length === 0 || (names.includes(NOTE) && names.every((name) => isOfReport(join(folder, name))))) return;
  throw new UserError(
    "output_unwritable",
    `${folder}, where the conversations would go, is there already and is not of a report.`,
    "Name another file with --output, or give --traces embed or none.",
  );
}

function isOfReport(path: string): boolean {
  if (basename(path) === NOTE) return readFileSync(path, "utf8").startsWith(NOTE_START);
  return path.endsWith(".js") && statSync(path).isFile();
}

/** A folder of conversations, written under a temporary name and renamed when complete. */
export class TraceFolder {
  private readonly unfinished: string;

  constructor(private readonly folder: string) {
    this.unfinished = `${folder}.${randomUUID().slice(0, 8)}.tmp`;
    mkdirSync(this.unfinished, { recursive: true });
    const page = basename(folder).replace(/-traces$/, ".html");
    writeFileSync(
      join(this.unfinished, NOTE),
      `${NOTE_START} ${page}, one file a task, written by art-e report.\nKeep the folder beside the page.\n`,
    );
  }

  write(key: string, packed: string): void {
    writeFileSync(join(this.unfinished, `${key}.js`), traceFile(key, packed));
  }

  finish(): void {
    checkTraceFolder(this.folder);
    rmSync(this.folder, { recursive: true, force: true });
    renameSync(this.unfinished, this.folder);
  }

  discard(): void {
    rmSync(this.unfinished, { recursive: true, force: true });
  }
}
