import type { Readable } from "node:stream";
import { longestSecret, redactEnd } from "../domain/redact.js";
import { type ProgramEnd, type ProgramStart, startSupervised } from "./supervised-process.js";

export interface ProgramOutput {
  readonly end: ProgramEnd;
  readonly stdout: string;
  /** Its last characters. */
  readonly stderr: string;
  /** Killed because it wrote too much. */
  readonly tooLong: boolean;
}

const STDERR_CHARS = 2_000;

/**
 * Runs a program once with `input` on its stdin. On abort it is killed, and this rejects with the reason.
 * `secrets` are redacted from its stderr.
 */
export async function runProcess(
  start: ProgramStart,
  input: string,
  maxBytes: number,
  signal: AbortSignal,
  secrets: readonly string[] = [],
): Promise<ProgramOutput> {
  signal.throwIfAborted();
  const program = startSupervised(start);
  signal.addEventListener("abort", program.kill, { once: true });
  const chunks: Buffer[] = [];
  let bytes = 0;
  let tooLong = false;
  program.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) {
      chunks.push(chunk);
      return;
    }
    tooLong = true;
    program.kill();
  });
  const stderr = lastOf(program.stderr, secrets);
  program.stdin.end(input);
  const end = await program.ended;
  signal.removeEventListener("abort", program.kill);
  signal.throwIfAborted();
  return { end, stdout: Buffer.concat(chunks).toString("utf8"), stderr: stderr(), tooLong };
}

/** Keeps only the end of a stream's text, in bounded memory. */
export function lastOf(stream: Readable, secrets: readonly string[]): () => string {
  const tailChars = STDERR_CHARS + longestSecret(secrets);
  let text = "";
  let isCut = false;
  stream.setEncoding("utf8").on("data", (more: string) => {
    text += more;
    isCut ||= text.length > tailChars;
    text = text.slice(-tailChars);
  });
  return () => redactEnd(text, isCut, STDERR_CHARS, secrets).trim();
}
