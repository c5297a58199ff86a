import { once } from "node:events";
import { stripControls } from "../../platform/strip-controls.js";
import type { Settings } from "./settings.js";
import { writeAboveBar } from "./terminal-bar.js";

/** The output of a command: results to stdout, notes to stderr. */
export interface Output {
  /** One JSON document with `--json`, else the text. */
  result(json: unknown, text: () => string): void;
  /** Lines of JSON on stdout, no faster than the reader takes them. */
  lines(lines: Iterable<string>): Promise<void>;
  /** Text on stdout in chunks, with or without `--json`. */
  pieces(chunks: Iterable<string>): Promise<void>;
  /** A line on stderr; none with `--quiet`. */
  note(text: string): void;
}

export function openOutput(settings: Settings): Output {
  return {
    result(json, text) {
      process.stdout.write(`${settings.json ? withoutC1(JSON.stringify(json, null, 2)) : stripControls(text())}\n`);
    },
    async lines(lines) {
      for (const line of lines) await write(`${withoutC1(line)}\n`);
    },
    async pieces(chunks) {
      // Only on a terminal: a file gets the text unchanged.
      const clean = process.stdout.isTTY ? stripControls : (chunk: string) => chunk;
      for (const chunk of chunks) await write(clean(chunk));
    },
    note(text) {
      if (!settings.quiet) writeAboveBar(`${stripControls(text)}\n`);
    },
  };
}

/** Escapes the control characters 7F to 9F, which JSON leaves as they are and some terminals interpret. */
function withoutC1(json: string): string {
  return json.replace(/[\x7f-\x9f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}

/** Writes with backpressure. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

/**
 * Exits quietly when the reader of stdout is gone (`| head`). A closed terminal does not end the process, so that
 * results are still saved.
 */
export function handleClosedOutput(): void {
  process.stderr.on("error", () => undefined);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EIO") return;
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}
