// The processes of a command agent: one JSON line in, one out, reused from task to task.
import { StringDecoder } from "node:string_decoder";
import { z } from "zod";
import { ModelError, type ModelErrorKind } from "../../models/model.js";
import { MAX_ANSWER_TOKENS, MAX_COST_USD } from "../../models/usage.js";
import { firstIssue, type JsonObject, parseJsonOrNull } from "../../platform/json.js";
import { lastOf, type ProgramStart, type SupervisedProcess, startSupervised } from "../../platform/processes.js";
import { redact } from "../../platform/secrets.js";

const tokens = z.number().int().nonnegative().max(MAX_ANSWER_TOKENS);

const replySchema = z.object({
  id: z.union([z.string(), z.number()]).transform(String),
  answer: z.string().nullish(),
  sources: z.array(z.string()).nullish(),
  error: z.string().nullish(),
  usage: z
    .object({
      input_tokens: tokens,
      output_tokens: tokens,
      cached_input_tokens: tokens.default(0),
      reasoning_tokens: tokens.nullish(),
    })
    .nullish(),
  cost_usd: z.number().nonnegative().max(MAX_COST_USD).nullish(),
  /** Intermediate messages for the trace. */
  trace: z
    .array(
      z.object({
        role: z.enum(["system", "user", "assistant", "tool"]),
        content: z.string(),
        name: z.string().default(""),
      }),
    )
    .max(10_000)
    .nullish(),
});

export type ProgramReply = z.output<typeof replySchema>;

const MAX_LINE_CHARS = 20_000_000;

/** Time for a program to exit after its stdin is closed. */
const GRACE_MS = 5_000;

interface OpenQuestion {
  readonly id: string;
  resolve(reply: ProgramReply): void;
  reject(error: ModelError): void;
}

/** A program that answers one question at a time. Each question and each answer is one line of JSON. */
class AgentProcess {
  private readonly program: SupervisedProcess;
  private readonly stderr: () => string;
  private readonly decoder = new StringDecoder("utf8");
  private line = "";
  private waiting: OpenQuestion | null = null;
  isGone = false;

  /** `onStderr` receives the program's stderr as it arrives. `secrets` are redacted from the replies. */
  constructor(
    start: ProgramStart,
    onStderr: (text: string) => void,
    private readonly secrets: readonly string[],
  ) {
    this.program = startSupervised(start);
    this.stderr = lastOf(this.program.stderr, secrets);
    this.program.stderr.on("data", onStderr);
    this.program.stdout.on("data", (chunk: Buffer) => this.read(this.decoder.write(chunk)));
    void this.program.ended.then((end) => {
      this.isGone = true;
      const why = "error" in end ? end.error : (end.signal ?? `exit code ${end.code}`);
      const last = this.stderr();
      if ("error" in end) this.fail("not_found", `cannot start ${start.argv[0]}: ${why}`);
      else this.fail("server", `the program ended (${why}) without an answer${last === "" ? "" : `: ${last}`}`);
    });
  }

  /** Sends a question and returns the reply. On abort, the program and its child processes are killed. */
  async ask(question: JsonObject & { readonly id: string }, signal: AbortSignal): Promise<ProgramReply> {
    signal.throwIfAborted();
    let stop = () => {};
    try {
      return await new Promise<ProgramReply>((resolve, reject) => {
        this.waiting = { id: question.id, resolve, reject };
        stop = () => {
          this.kill();
          reject(signal.reason);
        };
        signal.addEventListener("abort", stop, { once: true });
        this.program.stdin.write(`${JSON.stringify(question)}\n`);
      });
    } finally {
      this.waiting = null;
      signal.removeEventListener("abort", stop);
    }
  }

  kill(): void {
    this.isGone = true;
    this.program.kill();
  }

  /** Closes the program's stdin to signal that there are no more questions, then waits for it to exit. */
  async end(): Promise<void> {
    this.program.stdin.end();
    const timer = setTimeout(() => this.kill(), GRACE_MS);
    await this.program.ended;
    clearTimeout(timer);
  }

  private read(text: string): void {
    this.line += text;
    for (let at = this.line.indexOf("\n"); at !== -1; at = this.line.indexOf("\n")) {
      const line = this.line.slice(0, at).trim();
      this.line = this.line.slice(at + 1);
      // Skips other output, such as library logs. A reply is always an object.
      if (line.startsWith("{")) this.take(redact(line, this.secrets));
    }
    if (this.line.length > MAX_LINE_CHARS) this.break(`its answer is longer than ${MAX_LINE_CHARS} characters`);
  }

  private take(line: string): void {
    const reply = replySchema.safeParse(parseJsonOrNull(line));
    if (!reply.success) {
      const why = firstIssue(reply.error);
      this.break(`the program wrote a line that is not an answer (${why}): ${line.slice(0, 200)}`);
      return;
    }
    // A late answer to an earlier question.
    if (reply.data.id !== this.waiting?.id) return;
    this.waiting.resolve(reply.data);
  }

  /** Fails the question and kills the program, because its output can no longer be parsed. */
  private break(why: string): void {
    this.fail("protocol", why);
    this.kill();
  }

  private fail(kind: ModelErrorKind, why: string): void {
    this.waiting?.reject(new ModelError(kind, why, { retryable: false }));
  }
}

/** Pool with one process per concurrent question. Processes are reused, and replaced after they exit. */
export class AgentProcesses {
  private readonly idle: AgentProcess[] = [];
  private readonly all = new Set<AgentProcess>();

  constructor(
    private readonly start: ProgramStart,
    private readonly onStderr: (text: string) => void,
    private readonly secrets: readonly string[],
  ) {}

  async ask(question: JsonObject & { readonly id: string }, signal: AbortSignal): Promise<ProgramReply> {
    const program = this.take();
    try {
      return await program.ask(question, signal);
    } finally {
      if (program.isGone) this.all.delete(program);
      else this.idle.push(program);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.all].map((program) => program.end()));
  }

  private take(): AgentProcess {
    for (let idle = this.idle.pop(); idle !== undefined; idle = this.idle.pop()) {
      if (!idle.isGone) return idle;
      this.all.delete(idle);
    }
    const program = new AgentProcess(this.start, this.onStderr, this.secrets);
    this.all.add(program);
    return program;
  }
}
