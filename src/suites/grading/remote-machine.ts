import type { CommandResult, MachineCommand, TaskMachine } from "../../domain/tasks/task-machine.js";
import type { MachineCall } from "./grading-messages.js";

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** The task's machine, which another process holds. */
export class RemoteMachine implements TaskMachine {
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;

  constructor(
    readonly canRun: boolean,
    private readonly send: (id: number, call: MachineCall) => void,
  ) {}

  async copyIn(from: string, path: string): Promise<void> {
    await this.#ask({ op: "copyIn", from, path });
  }

  async copyOut(path: string, to: string): Promise<boolean> {
    return (await this.#ask({ op: "copyOut", path, to })) as boolean;
  }

  async run({ argv, cwd, env, timeoutMs }: MachineCommand): Promise<CommandResult> {
    const command = { argv: [...argv], cwd, env: { ...env }, timeoutMs };
    return (await this.#ask({ op: "run", command })) as CommandResult;
  }

  answer(id: number, value: unknown): void {
    this.#take(id)?.resolve(value);
  }

  fail(id: number, message: string): void {
    this.#take(id)?.reject(new Error(message));
  }

  #ask(call: MachineCall): Promise<unknown> {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.send(id, call);
    });
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}
