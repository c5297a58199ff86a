import type { TaskMachine } from "../../domain/tasks/task-machine.js";

/** Stands in for the machine over a plain folder until it is there. */
export class FolderMachine implements TaskMachine {
  readonly canRun = false;

  // biome-ignore lint/complexity/noUselessConstructor: the machine takes its folder.
  constructor(_root: string) {}

  async copyIn(): Promise<void> {}

  async copyOut(): Promise<boolean> {
    return false;
  }

  run(): never {
    throw new Error("a folder cannot run commands");
  }
}
