import { UserError } from "../../domain/errors.js";

/** What the parser complains of, with each flag named as it was written. */
export function usageError(complaint: string, args: readonly string[], commands: readonly string[]): UserError {
  const command = args.find((arg) => commands.includes(arg));
  return new UserError(
    "usage",
    reword(complaint, args, command),
    `See ${["art-e", command, "--help"].filter(Boolean).join(" ")}.`,
  );
}

function reword(complaint: string, args: readonly string[], command: string | undefined): string {
  const line = complaint
    .split("\n")
    .map((part) => part.trim())
    .join(" ")
    .trim();
  const [, unknown] = /^Unknown arguments?: (.+)$/.exec(line) ?? [];
  if (unknown !== undefined) {
    const words = asWritten(unknown.split(", "), args);
    const kind = words[0]?.startsWith("-") ? "flag" : command === undefined ? "command" : "argument";
    return `Unknown ${kind}: ${words.join(", ")}.`;
  }
  const [, flag] = /^Not enough arguments following: (.+)$/.exec(line) ?? [];
  if (flag !== undefined) return `${flag.length === 1 ? "-" : "--"}${flag} needs a value.`;
  if (line.startsWith("Not enough non-option arguments")) return `${command ?? "art-e"} needs more words after it.`;
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/** The parser names flags without their dashes, and some twice in two spellings. */
function asWritten(names: readonly string[], args: readonly string[]): readonly string[] {
  const written = args.map((arg) => arg.replace(/=.*$/s, "")).filter((arg) => names.includes(arg.replace(/^--?/, "")));
  return written.length > 0 ? written : names;
}

/**
 * An empty value would be read as the number 0, and `--limit 0` means all: a shell variable that is not set must
 * not start the largest run.
 */
export function refuseEmptyValues(args: readonly string[]): void {
  const at = args.findIndex((arg) => /^(--?[\w-]+=)?\s*$/.test(arg));
  if (at === -1) return;
  const flag = (args[at]?.trim() || args[at - 1] || "").replace(/=\s*$/, "");
  const what = flag.startsWith("-") ? `${flag}: the value` : "An argument";
  throw new UserError("flag_invalid", `${what} is empty.`, "Give one, or leave it out.");
}
