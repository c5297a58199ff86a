import { once, setMaxListeners } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import type { MultiBar } from "cli-progress";
import {
  type AppSettings,
  DEFAULT_CACHE_DIR,
  DEFAULT_DB,
  Interrupted,
  type Person,
  PersonLeft,
} from "../platform/app-context.js";
import type { Environment } from "../platform/environment.js";
import { EXIT, type ExitCode, UserError } from "../platform/errors.js";
import { stripControls } from "../platform/strings.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import { isAnyThreadBusy } from "../platform/worker-rpc.js";
import { onDamagedRow } from "../store/damaged-row.js";
import { duration } from "../text/format.js";

export interface Interrupts {
  /** Aborts on the first Ctrl-C, SIGTERM or SIGHUP (the terminal was closed). */
  readonly signal: AbortSignal;
  /**
   * For work that stops by itself after the first signal. `message` describes the work that is still being finished.
   * The returned signal aborts on the second Ctrl-C, and the third ends the process. Without this call, the second
   * Ctrl-C ends it.
   */
  untilSecond(message: () => string): AbortSignal;
  /**
   * For work that blocks the event loop. Restores the default action of the signals, which ends the process. Returns a
   * function that handles the signals again.
   */
  letSignalsEnd(): () => void;
}

export interface Progress {
  /** Sets the progress, in the unit of `total`, and the text next to it. */
  update(done: number, detail: string | ProgressDetail): void;
  /** Stops showing progress, and removes the bar from the screen. */
  stop(): void;
}

/** Text next to a progress bar. */
export interface ProgressDetail {
  /** The most important text, always shown. */
  readonly main: string;
  /** Texts shown if there is room, most important first. */
  readonly more?: readonly string[];
}

export interface ProgressState extends ProgressDetail {
  readonly title: string;
  readonly done: number;
  /** The total, or null if unknown. */
  readonly total: number | null;
  readonly elapsedMs: number;
}

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

/** The global flags, checked and with their defaults. */
export interface Settings extends AppSettings {
  readonly json: boolean;
  readonly quiet: boolean;
  readonly progress: boolean;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type Signal = (typeof SIGNALS)[number];

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

/** No listener limit, because hundreds of running calls listen to one signal and Node would warn about a leak. */
function createController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/**
 * Handles signals until `close` is called. After a signal, `close` ends the process even if a thread is still working.
 */
export function listenForInterrupt(): Interrupts & { close(): void } {
  const first = createController();
  let second: AbortController | null = null;
  let message = () => "Stopping. Press Ctrl-C again to stop immediately.";
  let last: Signal = "SIGTERM";
  const stop = (signal: Signal) => {
    last = signal;
    if (!first.signal.aborted) {
      // Without a bar to draw over it, the terminal's echo of Ctrl-C stays on its own line.
      writeAboveBar(`${multiBar === null ? "\n" : ""}${message()}\n`);
      first.abort(new Interrupted("stopped."));
    } else if (second !== null && !second.signal.aborted) {
      second.abort(new Interrupted("stopped."));
    } else {
      exitBy(signal);
    }
  };
  const listen = () => {
    for (const signal of SIGNALS) process.on(signal, stop);
  };
  listen();
  return {
    signal: first.signal,
    untilSecond(newMessage) {
      message = newMessage;
      second = createController();
      return second.signal;
    },
    letSignalsEnd() {
      eraseBar();
      for (const signal of SIGNALS) process.off(signal, stop);
      return listen;
    },
    close() {
      // Exit only after output to a pipe has been flushed.
      if (first.signal.aborted && isAnyThreadBusy()) process.stdout.write("", () => exitBy(last));
    },
  };
}

/**
 * Exits immediately. Node waits for its threads, and a thread in a long SQLite statement cannot be stopped. In that
 * case, the signal's default action ends the process.
 */
function exitBy(signal: Signal): void {
  if (isAnyThreadBusy()) {
    process.once("exit", () => {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  }
  process.exit(EXIT.interrupted);
}

/** Resolves when the user asks to stop. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Milliseconds between two plain progress lines. */
const LINE_EVERY = 10_000;

const SILENT: Progress = { update() {}, stop() {} };

/**
 * Shows progress on stderr with rate and time left. This is a bar on a terminal, otherwise one line every ten seconds.
 * `total` is null if unknown.
 */
export function openProgress(settings: Settings, title: string, total: number | null): Progress {
  if (settings.quiet || !settings.progress) return SILENT;
  return process.stderr.isTTY ? openBar(title, total) : openLines(title, total);
}

/** Like `openProgress`, for work whose total is known only with the first update. */
export function openProgressLater(settings: Settings, title: string) {
  let progress: Progress | null = null;
  return {
    update(done: number, total: number | null, detail: string): void {
      progress ??= openProgress(settings, title, total);
      progress.update(done, detail);
    },
    stop(): void {
      progress?.stop();
    },
  };
}

function openBar(title: string, total: number | null): Progress {
  const started = performance.now();
  let state: Omit<ProgressState, "elapsedMs"> = { title, total, done: 0, main: "" };
  const bar = openTerminalBar((columns) => progressLine({ ...state, elapsedMs: performance.now() - started }, columns));
  return {
    update(done, detail) {
      state = { title, total, done, ...detailOf(detail) };
    },
    stop: () => bar.stop(),
  };
}

function openLines(title: string, total: number | null): Progress {
  const started = performance.now();
  let last = started;
  return {
    update(done, detail) {
      const now = performance.now();
      if (now - last < LINE_EVERY) return;
      last = now;
      const text = progressText({ title, total, done, elapsedMs: now - started, ...detailOf(detail) });
      process.stderr.write(`${text}\n`);
    },
    stop() {},
  };
}

function detailOf(detail: string | ProgressDetail): ProgressDetail {
  return typeof detail === "string" ? { main: detail } : detail;
}

const WIDEST_BAR = 24;
const NARROWEST_BAR = 4;
/** Minimum bar width that must remain for less important texts to be shown. */
const BAR_BESIDE_REST = 10;

/**
 * Returns a line of at most `columns` characters:
 * `Answering ███░░░░░ 12%  semantic 0.412  12/100  $0.0123  0:42 min left  1 failed`.
 * Without enough room, it drops texts from the end first, then the bar, then the title.
 */
export function progressLine(state: ProgressState, columns: number): string {
  const { title, done, total } = state;
  const head = stripControls(title);
  const [first, ...rest] = partsOf(state);
  let text = first ?? "";
  // Subtracts the two spaces around the bar.
  const room = () => columns - head.length - text.length - 2;
  for (const part of rest) {
    if (room() - part.length - 2 < BAR_BESIDE_REST) break;
    text += `  ${part}`;
  }
  const width = Math.min(WIDEST_BAR, room());
  if (total !== null && width >= NARROWEST_BAR) return `${head} ${bar(done, total, width)} ${text}`;
  const line = `${head} ${text}`;
  return (line.length <= columns ? line : text).slice(0, columns);
}

/** Like `progressLine` without a bar, for logs. */
export function progressText(state: ProgressState): string {
  return `${stripControls(state.title)} ${partsOf(state).join("  ")}`;
}

/** Returns the text that is always shown, followed by the optional texts. */
function partsOf({ done, total, elapsedMs, main, more = [] }: ProgressState): readonly string[] {
  const parts = [];
  if (total !== null && total > 0) parts.push(`${Math.floor((Math.min(done, total) / total) * 100)}%`);
  if (main !== "") parts.push(stripControls(main));
  if (total !== null && done > 0 && done < total) {
    parts.push(`${duration((elapsedMs / done) * (total - done))} left`);
  }
  return [parts.join("  "), ...more.filter((part) => part !== "").map(stripControls)];
}

function bar(done: number, total: number, width: number): string {
  const filled = total === 0 ? 0 : Math.round(Math.min(1, done / total) * width);
  return "█".repeat(filled) + "░".repeat(width - filled);
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
  const waiting: ((line: string | null) => void)[] = [];
  const early: string[] = [];
  let isOver = false;
  lines.on("line", (line) => {
    const next = waiting.shift();
    if (next === undefined) early.push(line);
    else next(line);
  });
  lines.on("close", () => {
    isOver = true;
    for (const next of waiting.splice(0)) next(null);
  });
  return {
    show: (text) => writeAboveBar(`${stripControls(text)}\n`),
    async ask(prompt, signal) {
      signal.throwIfAborted();
      // Stop the bar, because it would be drawn over the user's input.
      multiBar?.stop();
      multiBar = null;
      process.stderr.write(prompt);
      const line = await new Promise<string | null>((resolve, reject) => {
        const [first] = early;
        if (first !== undefined) resolve(early.shift() ?? first);
        else if (isOver) resolve(null);
        else waiting.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      if (line === null) throw new PersonLeft("the input ended before the question was answered");
      return line;
    },
    close: () => lines.close(),
  };
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
      report(new UserError("stdout_failed", `Cannot write to stdout: ${error.message}.`, hint, EXIT.failed)),
    );
  });
}

/** The bar on the screen, or null. */
let multiBar: MultiBar | null = null;
let hasExitListener = false;

/**
 * Repeatedly draws a line on stderr, which must be a terminal. `line` returns the text for a number of columns. The
 * cursor and the terminal modes are not changed, so that a killed process leaves the terminal usable. `stop` removes
 * the line from the screen.
 */
function openTerminalBar(line: (columns: number) => string): { stop(): void } {
  // Imported only if a bar is drawn.
  const { MultiBar } = createRequire(import.meta.url)("cli-progress") as typeof import("cli-progress");
  const bars = new MultiBar({
    stream: process.stderr,
    linewrap: true,
    // Redrawn on a timer, so that the time left is updated while the work waits.
    fps: 8,
    forceRedraw: true,
    clearOnComplete: true,
    format: () => line(stderrColumns()),
  });
  bars.create(1, 0);
  multiBar = bars;
  if (!hasExitListener) process.on("exit", eraseBar);
  hasExitListener = true;
  return {
    stop() {
      bars.stop();
      if (multiBar === bars) multiBar = null;
    },
  };
}

/** Leaves out the last columns, because the terminal's echo of Ctrl-C would start a new line there. */
function stderrColumns(): number {
  return Math.max(10, (process.stderr.columns || 80) - 3);
}

/** Writes complete lines to stderr, above the bar if one is drawn. */
export function writeAboveBar(text: string): void {
  if (multiBar === null) {
    process.stderr.write(text);
    return;
  }
  multiBar.log(text);
  multiBar.update();
}

/** Removes the bar until it is drawn again, for work that a signal might end together with the process. */
function eraseBar(): void {
  if (multiBar !== null) process.stderr.write("\r\x1b[K");
}

/** Flags override the environment, which overrides the config file's `configuredDb`, which overrides the defaults. */
export function readSettings(
  argv: Readonly<Record<string, unknown>>,
  env: Environment,
  configuredDb: string | null = null,
): Settings {
  return {
    db: path("--db", argv.db) ?? (env.ART_E_DB || (configuredDb ?? DEFAULT_DB)),
    cacheDir: path("--cache-dir", argv.cacheDir) ?? (env.ART_E_CACHE_DIR || DEFAULT_CACHE_DIR),
    json: argv.json === true,
    quiet: argv.quiet === true,
    progress: argv.noProgress !== true,
    agentStderr: argv.verbose === true ? (text) => process.stderr.write(stripControls(text)) : null,
    env,
  };
}

function path(flag: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.trim() !== "") return value;
  throw new UserError("flag_invalid", `${flag}: expected a path.`, "See art-e --help.");
}
