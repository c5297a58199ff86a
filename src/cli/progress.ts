// Shows how far a command is: a bar on a terminal, otherwise one line every ten seconds.
import { createRequire } from "node:module";
import type { MultiBar } from "cli-progress";
import { stripControls } from "../platform/control-characters.js";
import { duration } from "../text/format.js";
import type { Settings } from "./settings.js";

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
  /** Reason why the work is held up. It stands at the front, and the time left is unknown. */
  readonly held?: string | null;
  /** Texts shown if there is room, most important first. */
  readonly more?: readonly string[];
}

export interface ProgressState extends ProgressDetail {
  readonly title: string;
  readonly done: number;
  /** The total, or null if unknown. */
  readonly total: number | null;
  /** Milliseconds, without those in which the work was held up. */
  readonly elapsedMs: number;
}

/** Milliseconds between two plain progress lines. */
const LINE_EVERY = 10_000;

/** The same if the work was not held up in between. */
const NEWS_EVERY = 2_000;

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
  const watch = openStopwatch();
  let state: Omit<ProgressState, "elapsedMs"> = { title, total, done: 0, main: "" };
  const bar = openTerminalBar((columns) => progressLine({ ...state, elapsedMs: watch.elapsedMs() }, columns));
  return {
    update(done, detail) {
      state = { title, total, done, ...detailOf(detail) };
      watch.setHeld(isHeld(state));
    },
    stop: () => bar.stop(),
  };
}

function openLines(title: string, total: number | null): Progress {
  const watch = openStopwatch();
  let last = performance.now();
  let lastHeld = Number.NEGATIVE_INFINITY;
  return {
    update(done, detail) {
      const state = { title, total, done, ...detailOf(detail) };
      watch.setHeld(isHeld(state));
      const now = performance.now();
      // A log says immediately that the work is held up.
      const isNews = isHeld(state) && now - lastHeld >= NEWS_EVERY;
      if (isHeld(state)) lastHeld = now;
      if (now - last < LINE_EVERY && !isNews) return;
      last = now;
      process.stderr.write(`${progressText({ ...state, elapsedMs: watch.elapsedMs() })}\n`);
    },
    stop() {},
  };
}

function isHeld({ held = null }: ProgressDetail): boolean {
  return held !== null;
}

/** Measures the time in which work was not held up. */
function openStopwatch() {
  let elapsedMs = 0;
  let since = performance.now();
  let held = false;
  return {
    elapsedMs: () => elapsedMs + (held ? 0 : performance.now() - since),
    setHeld(next: boolean): void {
      if (next === held) return;
      elapsedMs = this.elapsedMs();
      since = performance.now();
      held = next;
    },
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
function partsOf({ done, total, elapsedMs, main, held = null, more = [] }: ProgressState): readonly string[] {
  const parts = [];
  if (total !== null && total > 0) parts.push(`${Math.floor((Math.min(done, total) / total) * 100)}%`);
  if (held !== null) parts.push(stripControls(held));
  if (main !== "") parts.push(stripControls(main));
  if (total !== null && done > 0 && done < total && held === null) {
    parts.push(`${duration((elapsedMs / done) * (total - done))} left`);
  }
  return [parts.join("  "), ...more.filter((part) => part !== "").map(stripControls)];
}

function bar(done: number, total: number, width: number): string {
  const filled = total === 0 ? 0 : Math.round(Math.min(1, done / total) * width);
  return "█".repeat(filled) + "░".repeat(width - filled);
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

/** Stops the bar, because it would be drawn over the user's input. */
export function stopBar(): void {
  multiBar?.stop();
  multiBar = null;
}

export function isBarShown(): boolean {
  return multiBar !== null;
}

/** Removes the bar until it is drawn again, for work that a signal might end together with the process. */
export function eraseBar(): void {
  if (multiBar !== null) process.stderr.write("\r\x1b[K");
}
