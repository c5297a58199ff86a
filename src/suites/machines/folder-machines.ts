import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenedMachine, TaskMachines } from "../../domain/tasks/task-machine.js";
import { FolderMachine } from "./folder-machine.js";

/** Folders that stand for machines, whatever the snapshot: what only takes files needs nothing else. */
export const folderMachines: TaskMachines = {
  missingFor: async () => null,
  open: async () => new TemporaryFolderMachine(await mkdtemp(join(tmpdir(), "art-e-machine-"))),
};

class TemporaryFolderMachine extends FolderMachine implements OpenedMachine {
  constructor(private readonly folder: string) {
    super(folder);
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
