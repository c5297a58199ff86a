import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileStateOf } from "../file-in-folder.js";
import type { SuiteFinding } from "../finding.js";
import { namedPaths } from "../named-paths.js";
import type { ReadTask } from "../read-task.js";
import { readSettingsState, type SettingsState, TEMPLATE_ENDING } from "../settings/settings-file.js";
import { pathInSuite, type SuiteFolder } from "../suite-folder.js";

/** Account settings that tasks name, or that the suite has templates for, and that are not filled in. */
export function checkSettings(suite: SuiteFolder, tasks: readonly ReadTask[]): SuiteFinding[] {
  const users = new Map<string, number>(templatesOf(suite).map((path) => [path, 0]));
  const outside: SuiteFinding[] = [];
  for (const read of tasks) {
    const named = namedPaths(read).filter(({ kind }) => kind === "settings");
    for (const { path, field } of named) {
      if (!["outside", "link"].includes(fileStateOf(suite.root, path))) continue;
      const at = { task: read.task.id, file: pathInSuite(suite, read.path.file), field };
      const message = `settings file ${path} is outside of the suite's folder, or leads over a link`;
      outside.push({ level: "error", code: "path_outside", ...at, message });
    }
    for (const path of new Set(named.map((one) => join(one.path)))) users.set(path, (users.get(path) ?? 0) + 1);
  }
  const findings = [...users].flatMap(([path, count]) => describeState(suite, path, count));
  return [...outside, ...findings];
}

function describeState(suite: SuiteFolder, path: string, users: number): SuiteFinding[] {
  if (["outside", "link"].includes(fileStateOf(suite.root, path))) return [];
  const settings = readSettingsState(join(suite.root, path));
  if (settings.state === "filled") return [];
  const needing = users === 0 ? "no task names it" : `${users} ${users === 1 ? "task needs" : "tasks need"} it`;
  const message = `${MESSAGES[settings.state]} (${needing})`;
  const field = settings.state === "placeholders" ? settings.fields.join(", ") : "";
  return [{ level: "warning", code: "settings_not_filled_in", task: null, file: path, field, message }];
}

const MESSAGES: Readonly<Record<Exclude<SettingsState["state"], "filled">, string>> = {
  template_only: `is not filled in: copy the file that ends in ${TEMPLATE_ENDING}, without this ending, and fill it in`,
  placeholders: "is not filled in: these fields have the template's values",
  missing: "is missing, and there is no template for it",
  unreadable: "is not JSON, even without its comments",
};

/** The settings files that templates under `settings/` stand for, relative to the suite's root. */
function templatesOf(suite: SuiteFolder): string[] {
  const folder = join(suite.content, "settings");
  if (!existsSync(folder)) return [];
  // With file types, links are not followed.
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(TEMPLATE_ENDING))
    .map(({ parentPath, name }) => relative(suite.root, join(parentPath, name.slice(0, -TEMPLATE_ENDING.length))))
    .sort();
}
