import { readFile, writeFile } from "node:fs/promises";
import { redact } from "../../domain/redact.js";
import type { CommandResult, MachineCommand, TaskMachine } from "../../domain/tasks/task-machine.js";

/** A machine of which an agent is shown everything but the values of account settings. It can use them there. */
export class RedactedMachine implements TaskMachine {
  constructor(
    private readonly machine: TaskMachine,
    private readonly secrets: readonly string[],
  ) {}

  get canRun(): boolean {
    return this.machine.canRun;
  }

  copyIn(from: string, path: string): Promise<void> {
    return this.machine.copyIn(from, path);
  }

  async copyOut(path: string, to: string): Promise<boolean> {
    if (!(await this.machine.copyOut(path, to))) return false;
    const bytes = await readFile(to, "latin1");
    const clean = redact(bytes, this.secrets.map(asLatin1));
    if (clean !== bytes) await writeFile(to, clean, "latin1");
    return true;
  }

  async run(command: MachineCommand, signal: AbortSignal): Promise<CommandResult> {
    const { exitCode, stdout, stderr } = await this.machine.run(command, signal);
    return { exitCode, stdout: redact(stdout, this.secrets), stderr: redact(stderr, this.secrets) };
  }
}

/** The bytes of a text, one character each, as the bytes of a file are read. */
const asLatin1 = (text: string) => Buffer.from(text).toString("latin1");
