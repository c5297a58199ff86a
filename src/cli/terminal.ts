// Reads from and writes to the terminal: a command's results and notes, and questions to a person.
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type Person, PersonLeft } from "../platform/app-context.js";
import { stripControls } from "../platform/control-characters.js";
import { untilAborted } from "../platform/deadline.js";
import { EXIT, type ExitCode, reasonOf, UserError } from "../platform/errors.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { onDamagedRow } from "../store/damaged-row.js";
import { stopBar, writeAboveBar } from "./progress.js";
import type { Settings } from "./settings.js";

/** Output of a command. Results go to stdout and notes to stderr, both without control characters. */
export interface Output {
  /** Writes one JSON document with `--json`, otherwise the text, if any. */
  result(json: unknown, text: () => string): void;
  /** Writes a part of the text that `result` completes. */
  part(text: string): void;
  /** Writes lines of JSON to stdout with backpressure. */
  lines(lines: Iterable<string>): Promise<void>;
  /** Writes text to stdout in chunks, with or without `--json`. */
  pieces(chunks: Iterable<string>): Promise<void>;
  /** Writes a line to stderr, or nothing with `--quiet`. */
  note(text: string): void;
}

/** Maximum number of damaged rows reported one by one. `art-e doctor` counts the others. */
const DAMAGED_ROWS_NAMED = 10;

/** Reports each damaged row that is left out of a list, once per row. */
export function showDamagedRows(): void {
  const seen = new Set<string>();
  onDamagedRow(({ message, hint }) => {
    if (seen.has(message) || seen.size > DAMAGED_ROWS_NAMED) return;
    seen.add(message);
    // Written even with --quiet, because the output is incomplete without this row.
    const isMore = seen.size > DAMAGED_ROWS_NAMED;
    writeAboveBar(
      `${stripControls(isMore ? `art-e: Left out more damaged rows. ${hint}` : `art-e: Left out a row. ${message}`)}\n`,
    );
  });
}

export function openOutput(settings: Settings): Output {
  return {
    result(json, text) {
      const output = settings.json ? withoutC1(toWellFormedJson(json, 2)) : stripControls(text());
      if (output !== "") process.stdout.write(`${output}\n`);
    },
    part(text) {
      process.stdout.write(stripControls(text));
    },
    async lines(lines) {
      for (const line of lines) await write(`${withoutC1(line)}\n`);
    },
    async pieces(chunks) {
      // Only on a terminal. Files receive the unchanged text.
      const clean = process.stdout.isTTY ? stripControls : (chunk: string) => chunk;
      for (const chunk of chunks) await write(clean(chunk));
    },
    note(text) {
      if (!settings.quiet) writeAboveBar(`${stripControls(text)}\n`);
    },
  };
}

/** Returns a person who answers at the terminal. Questions go to stderr, so that stdout contains only results. */
export function openPerson(): Person {
  const lines = createInterface({ input: process.stdin, terminal: false });
  const replies = lines[Symbol.asyncIterator]();
  return {
    show: (text) => writeAboveBar(`${stripControls(text)}\n`),
    async ask(prompt, signal) {
      signal.throwIfAborted();
      stopBar();
      process.stderr.write(prompt);
      const { value, done } = await untilAborted(signal, () => replies.next());
      if (done === true) throw new PersonLeft("the input ended before the question was answered");
      return value;
    },
    close: () => lines.close(),
  };
}

/** The replies of a person at a prompt. `next` returns `q` at the end of the input. */
export interface Replies {
  next(): Promise<string>;
  close(): void;
}

/** Reads lines from stdin, and writes the prompt to stderr before each. */
export function lineReplies(prompt: string): Replies {
  const lines = createInterface({ input: process.stdin, terminal: false });
  const iterator = lines[Symbol.asyncIterator]();
  return {
    async next() {
      process.stderr.write(prompt);
      const { value, done } = await iterator.next();
      return done === true ? "q" : value.trim();
    },
    close: () => lines.close(),
  };
}

/** Closes the replies when `use` ends or the signal aborts. */
export async function withReplies<T>(
  replies: Replies,
  signal: AbortSignal,
  use: (replies: Replies) => Promise<T>,
): Promise<T> {
  signal.addEventListener("abort", replies.close, { once: true });
  try {
    return await use(replies);
  } finally {
    signal.removeEventListener("abort", replies.close);
    replies.close();
  }
}

/** Reports a server error that is a bug in this program, as one line of JSON on stderr. */
export function reportFault(fault: unknown, requestId: string, { note }: Output): void {
  const stack = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
  note(JSON.stringify({ time: new Date().toISOString(), level: "error", request_id: requestId, fault: stack }));
}

/** Returns the width of the terminal on stdout, or null if stdout is not a terminal. */
export function terminalColumns(): number | null {
  return process.stdout.isTTY ? process.stdout.columns : null;
}

/** Escapes the control characters 7F to 9F. JSON does not escape them, and some terminals interpret them. */
function withoutC1(json: string): string {
  return json.replace(/[\x7f-\x9f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}

let handlesOutputErrors = false;

/** Writes with backpressure. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

/**
 * Exits quietly if the reader of stdout is gone (`| head`). Passes any other write error, such as a full disk, to
 * `report` and exits with its exit code. A closed terminal does not end the process, so that results are still saved.
 * Only the first call has an effect, because one process can run several command lines.
 */
export function handleOutputErrors(report: (error: UserError) => ExitCode): void {
  if (handlesOutputErrors) return;
  handlesOutputErrors = true;
  process.stderr.on("error", () => undefined);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EIO") return;
    if (error.code === "EPIPE") process.exit();
    const hint = "Free some disk space, or check the target of the redirection.";
    process.exit(
      report(new UserError("stdout_failed", `Cannot write to stdout: ${reasonOf(error)}.`, hint, EXIT.failed)),
    );
  });
}
