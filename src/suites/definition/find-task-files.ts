import { type Dirent, readdirSync } from "node:fs";
import { join } from "node:path";
import type { SuiteFinding } from "./finding.js";
import { pathInSuite, type SuiteFolder } from "./suite-folder.js";

/** Where a task's file lies: `examples/<tool>/<folderName>/<fileName>`. */
export interface TaskFilePath {
  readonly tool: string;
  readonly folder: string;
  readonly folderName: string;
  readonly file: string;
}

/** The task files of a suite, in the order of their paths, and folders that have none. Links are not followed. */
export function findTaskFiles(suite: SuiteFolder): { files: TaskFilePath[]; findings: SuiteFinding[] } {
  const files: TaskFilePath[] = [];
  const findings: SuiteFinding[] = [];
  const examples = join(suite.content, "examples");
  for (const tool of foldersIn(examples)) {
    for (const folderName of foldersIn(join(examples, tool))) {
      const folder = join(examples, tool, folderName);
      const names = entriesOf(folder)
        .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
        .map(({ name }) => name);
      const expected = `${folderName}.json`;
      const other = names.length === 1 ? names[0] : undefined;
      const name = names.includes(expected) ? expected : other;
      const at = { task: null, file: pathInSuite(suite, folder), field: "" } as const;
      if (name !== undefined) files.push({ tool, folder, folderName, file: join(folder, name) });
      else findings.push({ ...at, level: "error", code: "task_missing", message: `has no file ${expected}` });
    }
  }
  return { files, findings };
}

function foldersIn(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => name)
    .sort();
}

function entriesOf(folder: string): Dirent[] {
  return readdirSync(folder, { withFileTypes: true });
}
