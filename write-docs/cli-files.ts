import { join } from "node:path";
import { nameOf } from "../src/cli/command.js";
import { COMMAND_SECTIONS, COMMANDS } from "../src/cli/command-table.js";
import { SECTIONS } from "../src/cli/config/config-schema.js";
import { cliIndex, cliPage, flagPage } from "./cli-page.js";
import { inCode } from "./page-tables.js";

const FOLDER = join(import.meta.dirname, "../docs/cli");

/** The generated part of every file of docs/cli, by the file's path. */
export async function cliFiles(): Promise<ReadonlyMap<string, string>> {
  const files = new Map([
    [join(FOLDER, "README.md"), cliIndex(COMMAND_SECTIONS)],
    [join(FOLDER, "flags.md"), await flagPage(COMMANDS)],
  ]);
  // One after the other: jiti cannot load modules that import each other's imports at the same time.
  for (const entry of COMMANDS) {
    const name = nameOf(entry);
    files.set(join(FOLDER, `${name}.md`), await cliPage(entry, name === "run" ? [configSettings()] : []));
  }
  return files;
}

function configSettings(): string {
  const lines = Object.entries(SECTIONS).map(([section, fields]) => `- \`${section}\`: ${inCode(Object.keys(fields))}`);
  return `Sections of the [config file](../config-file.md), with the same values:\n\n${lines.join("\n")}`;
}
