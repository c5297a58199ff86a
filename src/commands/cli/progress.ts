import { createRequire } from "node:module";
import type { Options } from "cli-progress";
import { stripControls } from "../../platform/strip-controls.js";
import { duration } from "../../reports/text/format-number.js";
import type { Settings } from "./settings.js";

/** Milliseconds between two plain lines. */
const LINE_EVERY = 10_000;
const BAR_WIDTH = 24;

export interface Progress {
  /** Sets the progress, in the unit of `total`, and a detail shown beside it. */
  update(done: number, detail: string): void;
  /** Stops; a bar stays as it was last drawn. */
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
  let detail = "";
  // Loaded only where a bar is drawn.
  const { SingleBar } = createRequire(import.meta.url)("cli-progress") as typeof import("cli-progress");
  const bar = new SingleBar({
    stream: process.stderr,
    hideCursor: true,
    linewrap: false,
    fps: 8,
    // Drawn on a timer, so that the time left keeps moving while the work waits.
    noTTYOutput: false,
    format: (_options: Options, { value }: { value: number }) => {
      const part = total === null || total === 0 ? 0 : Math.min(1, value / total);
      const filled = Math.round(part * BAR_WIDTH);
      const drawn = total === null ? "" : `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)} `;
      return `${stripControls(title)} ${drawn}${describe(value, total, performance.now() - started, detail)}`;
    },
  });
  bar.start(total ?? Number.MAX_SAFE_INTEGER, 0);
  return {
    update(done, text) {
      detail = text;
      bar.update(done);
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
      process.stderr.write(`${stripControls(title)} ${describe(done, total, now - started, detail)}\n`);
    },
    stop() {},
  };
}

/** `12 %  34,000 mails  8,100/s  0:42 min left`. */
function describe(done: number, total: number | null, elapsedMs: number, detail: string): string {
  const parts = [];
  if (total !== null && total > 0) parts.push(`${Math.floor((Math.min(done, total) / total) * 100)} %`);
  if (detail !== "") parts.push(stripControls(detail));
  if (total !== null && done > 0 && done < total) parts.push(`${duration((elapsedMs / done) * (total - done))} left`);
  return parts.join("  ");
}
