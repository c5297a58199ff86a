import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import type { BadEmail } from "../../domain/mail/email.js";

/** The list of mails that an import passed over: a line each, where it stood, a tab, and why. */
export interface SkippedFile {
  add(bad: BadEmail): void;
  /** Its path; null where nothing was skipped, and no file is made. */
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
