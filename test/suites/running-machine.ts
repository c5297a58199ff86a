import { execFile } from "node:child_process";
import { join } from "node:path";
import type { CommandResult, MachineCommand, TaskMachine } from "../../src/sandbox/task-machine.js";
import { FolderMachine } from "../../src/suites/machines/folder-machine.js";

/** Runs commands as processes on the host. Words that start with /home are paths in the folder. */
export class RunningMachine implements TaskMachine {
  readonly canRun = true;
  readonly commands: string[] = [];
  readonly #files: FolderMachine;

  constructor(private readonly root: string) {
    this.#files = new FolderMachine(root);
  }

  copyIn(from: string, path: string): Promise<void> {
    return this.#files.copyIn(from, path);
  }

  copyOut(path: string, to: string): Promise<boolean> {
    return this.#files.copyOut(path, to);
  }

  run({ argv, env, timeoutMs }: MachineCommand): Promise<CommandResult> {
    this.commands.push(argv.join(" "));
    const [program = "", ...words] = argv.map((word) => (word.startsWith("/home/") ? join(this.root, word) : word));
    const options = {
      env: { PATH: "/usr/bin:/bin", HOME: this.root, ROOT: this.root, ...env },
      timeout: timeoutMs,
      cwd: this.root,
    };
    return new Promise((resolve) => {
      execFile(program, words, options, (error, stdout, stderr) => {
        resolve({ exitCode: error === null ? 0 : typeof error.code === "number" ? error.code : null, stdout, stderr });
      });
    });
  }
}
