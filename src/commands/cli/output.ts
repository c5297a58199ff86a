import { once } from "node:events";
import { stripControls } from "../../platform/strip-controls.js";
import type { Settings } from "./settings.js";

/** Where a command's words go: results to stdout, notes to stderr. */
export interface Output {
  /** One JSON document with `--json`, else the text. */
  result(json: unknown, text: () => string): void;
  /** Lines of JSON on stdout, as fast as the reader takes them. */
  lines(lines: Iterable<string>): Promise<void>;
  /** Text on stdout as it comes, whatever `--json` says. */
  pieces(pieces: Iterable<string>): Promise<void>;
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
    async pieces(pieces) {
      // On a terminal only: a file is given the bytes as they are.
      const shown = process.stdout.isTTY ? stripControls : (piece: string) => piece;
      for (const piece of pieces) await write(shown(piece));
    },
    note(text) {
      if (!settings.quiet) process.stderr.write(`${stripControls(text)}\n`);
    },
  };
}

/** JSON leaves the control characters from 7F to 9F as they are, and some terminals obey them. */
function withoutC1(json: string): string {
  return json.replace(/[\x7f-\x9f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`);
}

/** Waits for a reader that is slower than the writer. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

/** A reader that has seen enough (`| head`) is no fault, and a terminal that was closed does not end what is to be saved. */
export function endQuietlyWhenNobodyReads(): void {
  process.stderr.on("error", () => undefined);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EIO") return;
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}
