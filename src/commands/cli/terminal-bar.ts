import { createRequire } from "node:module";
import type { MultiBar } from "cli-progress";

/** The one that is on the screen. */
let drawn: MultiBar | null = null;
let hasExitListener = false;

/**
 * Draws a line of stderr, which is a terminal, again and again: `line` gives it for so many columns. The cursor and
 * the terminal's modes stay as they are, so that a killed process leaves nothing to be undone. `stop` takes it off the
 * screen.
 */
export function openTerminalBar(line: (columns: number) => string): { stop(): void } {
  // Loaded only where a bar is drawn.
  const { MultiBar } = createRequire(import.meta.url)("cli-progress") as typeof import("cli-progress");
  const bars = new MultiBar({
    stream: process.stderr,
    linewrap: true,
    // Drawn on a timer, so that the time left keeps moving while the work waits.
    fps: 8,
    forceRedraw: true,
    clearOnComplete: true,
    format: () => line(columnsOf(process.stderr)),
  });
  bars.create(1, 0);
  drawn = bars;
  eraseAtExit();
  return {
    stop() {
      bars.stop();
      if (drawn === bars) drawn = null;
    },
  };
}

/** Without the last columns, where the terminal's echo of Ctrl-C would begin a line of its own. */
function columnsOf({ columns }: { readonly columns?: number }): number {
  return Math.max(10, (columns || 80) - 3);
}

export function hasBar(): boolean {
  return drawn !== null;
}

/** Writes complete lines to stderr, above the bar where there is one. */
export function writeAboveBar(text: string): void {
  if (drawn === null) {
    process.stderr.write(text);
    return;
  }
  drawn.log(text);
  drawn.update();
}

/** Takes the bar off the screen until it is drawn again, for work in which a signal may end the process. */
export function eraseBar(): void {
  if (drawn !== null) process.stderr.write("\r\x1b[K");
}

function eraseAtExit(): void {
  if (hasExitListener) return;
  hasExitListener = true;
  process.on("exit", eraseBar);
}
