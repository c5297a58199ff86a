import { type ProgressDetail, type ProgressState, progressLine, progressText } from "./progress-line.js";
import type { Settings } from "./settings.js";
import { openTerminalBar } from "./terminal-bar.js";

/** Milliseconds between two plain lines. */
const LINE_EVERY = 10_000;

export interface Progress {
  /** Sets the progress, in the unit of `total`, and what is shown beside it. */
  update(done: number, detail: string | ProgressDetail): void;
  /** Stops; a bar is taken off the screen. */
  stop(): void;
}

const SILENT: Progress = { update() {}, stop() {} };

/**
 * Shows progress with rate and time left on stderr: a bar on a terminal, otherwise a line every ten seconds.
 * `total` is null if it is unknown.
 */
export function openProgress(settings: Settings, title: string, total: number | null): Progress {
  if (settings.quiet || !settings.progress) return SILENT;
  return process.stderr.isTTY ? openBar(title, total) : openLines(title, total);
}

/** As `openProgress`, for work whose total is known only with the first update. */
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
