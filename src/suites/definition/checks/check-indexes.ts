import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { SuiteFinding } from "../finding.js";
import type { ReadTask } from "../read-task.js";
import { parseIndexFile } from "../selection/index-file.js";
import { pathInSuite, type SuiteFolder } from "../suite-folder.js";

/** The index files beside `examples/` list tasks that the suite has. Other JSON files may lie there too. */
export function checkIndexes(suite: SuiteFolder, tasks: readonly ReadTask[]): SuiteFinding[] {
  const known = new Set(tasks.map(({ task, path }) => `${path.tool}/${task.id}`));
  const names = readdirSync(suite.content, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map(({ name }) => name)
    .sort();
  return names.flatMap((name): SuiteFinding[] => {
    const path = join(suite.content, name);
    const missing = (parseIndexFile(path) ?? []).filter(({ tool, id }) => !known.has(`${tool}/${id}`));
    return missing.map(({ tool, id }) => ({
      level: "error",
      code: "index_unknown_task",
      task: null,
      file: pathInSuite(suite, path),
      field: tool,
      message: `${id} is not in examples/${tool}`,
    }));
  });
}
