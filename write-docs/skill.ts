// SKILL.md and llms.txt for coding agents that use the program: made from the command table, docs/recipes.md and the
// index of the docs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { nameOf } from "../src/cli/command.js";
import { COMMAND_SECTIONS } from "../src/cli/command-table.js";

const ROOT = join(import.meta.dirname, "..");
export const SKILL = join(ROOT, "SKILL.md");
export const LLMS = join(ROOT, "llms.txt");

const readDocs = (name: string) => readFileSync(join(ROOT, "docs", name), "utf8");

/** Returns when to use which command, and the recipes. */
export function skillPage(): string {
  const commands = COMMAND_SECTIONS.flatMap(({ title, common, rare }) => [
    `### ${title}`,
    [...common, ...rare].map((entry) => `- \`art-e ${nameOf(entry)}\`: ${entry.describe}`).join("\n"),
  ]);
  const recipes = readDocs("recipes.md")
    .replace(/^# Recipes\n+/, "")
    .replace(/^## /gm, "### ")
    .replaceAll("](../", "](")
    .replaceAll(/\]\(([\w-]+\.md)/g, "](docs/$1");
  return `${[
    "---\nname: art-e\ndescription: Measures agents that answer questions from a mailbox. Use it to import mail, run and compare agents, find out what went wrong, make evals from labeled traces, and gate releases.\n---",
    "# art-e",
    "Everything is in one SQLite file (`./art-e.db`, `--db FILE`). `--json` prints a result as one JSON document (`schema/outputs.schema.json` has its schema under the command's name), and errors as one line of JSON on stderr. Exit codes: 0 success, 1 failure, 2 wrong usage or input, 3 a missed gate or mostly failed tasks, 130 interrupted. `art-e COMMAND --help` explains a command.",
    "Without a run, commands read the newest run. To select a run, pass its id, the start of the id, its name, or its agent.",
    "## Commands",
    ...commands,
    "## Recipes",
    recipes.trim(),
    "",
  ]
    .join("\n\n")
    .trimEnd()}\n`;
}

/** Returns the index of the docs (https://llmstxt.org). */
export function llmsText(): string {
  const rows = [...readDocs("README.md").matchAll(/^\| (.+) \| \[(.+)\]\((.+)\) \|$/gm)];
  const pages = rows.map(([, question, title, path]) => `- [${title}](docs/${path}): ${question}`);
  const summary =
    "art-e measures how well agents answer questions from a mailbox, and keeps mail, runs and traces in one SQLite file.";
  return `${[
    "# art-e",
    `> ${summary}`,
    "## Start\n\n- [Skill](SKILL.md): when to use which command, and ten recipes\n- [Quickstart](docs/quickstart.md): from the installation to the first run",
    `## Pages\n\n${pages.join("\n")}`,
    "",
  ]
    .join("\n\n")
    .trimEnd()}\n`;
}
