import type { TaskMachine } from "../../domain/tasks/task-machine.js";

/** Stands in for the machine over a plain folder until it is there. */
export function createFolderMachine(_folder: string): TaskMachine {
  return {
    canRun: false,
    copyIn: async () => undefined,
    copyOut: async () => false,
    run: async () => {
      throw new Error("a folder runs no commands");
    },
  };
}
