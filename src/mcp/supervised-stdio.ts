import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { longestSecret, redactEnd } from "../domain/redact.js";

/** A running program, as this transport needs it. */
export interface ServerProgram {
  readonly stdin: NodeJS.WritableStream;
  readonly stdout: NodeJS.ReadableStream;
  readonly stderr: NodeJS.ReadableStream;
  readonly ended: Promise<unknown>;
  kill(): void;
}

export type StartServer = (argv: readonly string[], env: Readonly<Record<string, string>>) => ServerProgram;

/** Largest message accepted from a server. */
export const MAX_MESSAGE_BYTES = 20_000_000;

const STDERR_TAIL_CHARS = 1_000;

/** Time for a server to exit after its stdin is closed. */
const GRACE_MS = 2_000;

/**
 * stdio as in the protocol's own transport, over a program that is ended with everything it has started: `npx -y
 * server` is three processes, and closing the first would leave the others.
 */
export class SupervisedStdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #buffer = new ReadBuffer({ maxBufferSize: MAX_MESSAGE_BYTES });
  #program: ServerProgram | null = null;
  #lastWords = "";
  #isCut = false;

  constructor(
    private readonly begin: () => ServerProgram,
    private readonly secrets: readonly string[],
  ) {}

  /** The end of what the server wrote to stderr. */
  get lastWords(): string {
    return redactEnd(this.#lastWords, this.#isCut, STDERR_TAIL_CHARS, this.secrets).trim();
  }

  async start(): Promise<void> {
    const program = this.begin();
    this.#program = program;
    program.stderr.on("data", (chunk: Buffer) => {
      const words = this.#lastWords + chunk.toString("utf8");
      const tailChars = STDERR_TAIL_CHARS + longestSecret(this.secrets);
      this.#isCut ||= words.length > tailChars;
      this.#lastWords = words.slice(-tailChars);
    });
    program.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    void program.ended.then(() => {
      this.#program = null;
      this.onclose?.();
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#program === null) throw new Error("the server has ended");
    this.#program.stdin.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    const program = this.#program;
    if (program === null) return;
    this.#program = null;
    program.stdin.end();
    const kill = setTimeout(program.kill, GRACE_MS);
    await program.ended;
    clearTimeout(kill);
  }

  /** Reports and skips lines that are no message: some servers log to stdout. */
  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.onerror?.(error as Error);
      this.#program?.kill();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error as Error);
      }
    }
  }
}
