import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import type { BadEmail } from "../../domain/mail/email.js";

/** The list of skipped mails: one line each, with its location and the reason, separated by a tab. */
export interface SkippedFile {
  add(bad: BadEmail): void;
  /** The path; null where nothing was skipped and no file was written. */
  finish(): string | null;
  abandon(): void;
}

export function openSkippedFile(path: string): SkippedFile {
  const partial = `${path}.partial`;
  let file: number | null = null;
  const close = () => {
    if (file !== null) closeSync(file);
    file = null;
  };
  return {
    add({ where, reason }) {
      file ??= openSync(partial, "w");
      writeSync(file, `${[where, reason].map((cell) => cell.replace(/[\t\r\n]+/g, " ")).join("\t")}\n`);
    },
    finish() {
      if (file === null) return null;
      close();
      renameSync(partial, path);
      return path;
    },
    abandon() {
      if (file === null) return;
      close();
      rmSync(partial, { force: true });
    },
  };
}
