import { UserError } from "../../domain/errors.js";
import { didYouMean } from "../../platform/nearest-names.js";

/** The command that the user called, as far as the parser got. */
export interface CommandInUse {
  /** `agents clone <id> <new-id>` */
  readonly usage: string;
  /** A command that only has subcommands. */
  readonly isGroup?: boolean;
  /** Set for a subcommand. */
  readonly parent?: unknown;
  /** What it takes: flags as they are written, or the names of subcommands. */
  readonly known: readonly string[];
}

/**
 * A complaint of the parser as an error for the user, with each flag named as it was written, and what it was probably
 * meant as. `commands`: the names of all.
 */
export function usageError(
  complaint: string,
  args: readonly string[],
  inUse: CommandInUse | null,
  commands: readonly string[],
): UserError {
  const path = inUse === null ? null : pathOf(inUse);
  const line = complaint
    .split("\n")
    .map((part) => part.trim())
    .join(" ")
    .trim();
  const words = unknownWords(line, args);
  const help = `See ${["art-e", path, "--help"].filter((part) => part !== null).join(" ")}.`;
  const near = words === null ? "" : didYouMean(words[0] ?? "", inUse?.known ?? commands);
  return new UserError("usage", reword(line, words, inUse, path), `${near}${help}`);
}

/** What the parser does not know, as it was written; null: it complains of something else. */
function unknownWords(line: string, args: readonly string[]): readonly string[] | null {
  const [, unknown] = /^Unknown arguments?: (.+)$/.exec(line) ?? [];
  return unknown === undefined ? null : asWritten(unknown.split(", "), args);
}

function reword(
  line: string,
  words: readonly string[] | null,
  inUse: CommandInUse | null,
  path: string | null,
): string {
  if (words !== null) {
    const isFlag = words[0]?.startsWith("-") ?? false;
    if (!isFlag && (inUse === null || inUse.isGroup)) return `Unknown command: ${[path, words[0]].join(" ").trim()}.`;
    if (inUse?.parent !== undefined) {
      return `${path} does not take ${isFlag ? words.join(", ") : words.map((word) => `"${word}"`).join(", ")}.`;
    }
    return `Unknown ${isFlag ? "flag" : "argument"}: ${words.join(", ")}.`;
  }
  const [, flag] = /^Not enough arguments following: (.+)$/.exec(line) ?? [];
  if (flag !== undefined) return `${flag.length === 1 ? "-" : "--"}${flag} needs a value.`;
  const [, given] = /^Not enough non-option arguments: got (\d+)/.exec(line) ?? [];
  if (given !== undefined) return `${path} needs ${missingArguments(inUse?.usage ?? "", Number(given))}.`;
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/** `agents clone <id> <new-id>` without its arguments. */
function pathOf({ usage }: CommandInUse): string {
  return usage.replace(/ [<[].*$/, "");
}

/** `INBOX_ADDRESS and WORDS`, as the usage names them. */
function missingArguments(usage: string, given: number): string {
  const required = [...usage.matchAll(/<([\w-]+)(?:\.\.)?>/g)].map(([, name = ""]) => name.toUpperCase());
  return required.slice(given).join(" and ");
}

/** The parser names flags without their dashes, and some twice in two spellings. */
function asWritten(names: readonly string[], args: readonly string[]): readonly string[] {
  const written = args.map((arg) => arg.replace(/=.*$/s, "")).filter((arg) => names.includes(arg.replace(/^--?/, "")));
  return written.length > 0 ? written : names;
}

/**
 * An empty value would be read as the number 0, and `--limit 0` means all: an unset shell variable must not start the
 * largest run.
 */
export function refuseEmptyValues(args: readonly string[]): void {
  const at = args.findIndex((arg) => /^(--?[\w-]+=)?\s*$/.test(arg));
  if (at === -1) return;
  const flag = (args[at]?.trim() || args[at - 1] || "").replace(/=\s*$/, "");
  const what = flag.startsWith("-") ? `${flag}: the value` : "An argument";
  throw new UserError("flag_invalid", `${what} is empty.`, "Give one, or leave it out.");
}
