import { copyFileSync, mkdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ROOT, workFolder } from "./art-e.js";
import { documentedCommands, firstMissing } from "./documented-commands.js";

/** The outputs that the docs show are what the program prints for the demo's mail and run. */

/** Pages with the commands that need neither a model nor the programs of a certain machine. */
const PAGES: readonly (readonly [page: string, run: RegExp])[] = [
  ["README.md", /^run/],
  ["docs/quickstart.md", /^(run -a baseline|agents)/],
  ["docs/agents-and-tools.md", /^(agents|tools)/],
  ["docs/analysis.md", /^export-results/],
  ["docs/task-suites.md", /^suite export/],
  ["docs/cli/ask.md", /--needs-reply/],
  ["docs/cli/compare.md", /^compare/],
  ["docs/cli/eval-search.md", /^eval-search/],
  ["docs/cli/export-results.md", /^export-results/],
  ["docs/cli/export-traces.md", /^export-traces/],
  ["docs/cli/gate.md", /^gate/],
  ["docs/cli/import.md", /^import/],
  ["docs/cli/import-traces.md", /demo\.otlp/],
  ["docs/cli/report.md", /^report/],
  ["docs/cli/search.md", /^search/],
  ["docs/cli/show.md", /^show/],
  ["docs/cli/stats.md", /^stats/],
];

/** The words of a command line, without quotes and without a comment at its end. */
const wordsOf = (line: string) =>
  (line.replace(/\s+# .*/, "").match(/'[^']*'|"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^(['"])(.*)\1$/, "$2"));

describe.each(PAGES)("outputs on %s", (name, run) => {
  const { artE, path, write } = workFolder({ demo: "answered" });
  const commands = documentedCommands(readFileSync(join(ROOT, name), "utf8"))
    .map(({ line, shown }) => ({ line: line.replace(/^art-e /, ""), shown }))
    .filter(({ line, shown }) => run.test(line) && shown.length > 0);

  beforeAll(async () => {
    for (const folder of ["fixtures", "examples"]) symlinkSync(join(ROOT, folder), path(folder));
    write("short.txt", "Answer briefly.");
    copyFileSync(join(ROOT, "examples/business-days-tool.ts"), path("business-days.ts"));
    mkdirSync(path("demo-output"));
    renameSync(path("results.json"), path("demo-output/results.json"));
    // The page about imports starts without a database.
    if (name !== "docs/cli/import.md") copyFileSync(path("art-e.db"), path("demo-output/demo.db"));
    if (!["docs/cli/compare.md", "docs/cli/gate.md"].includes(name)) return;
    const second = "run -a baseline --dataset fixtures/demo/questions.jsonl -l 0 --max-turns 2 -o demo-output/two.json";
    const { code, stderr } = await artE(`${second} --quiet`);
    if (code !== 0) throw new Error(stderr);
  });

  it("match the program's output", async () => {
    expect(commands.length).toBeGreaterThan(0);
    for (const { line, shown } of commands) {
      const { code, stdout, stderr } = await artE(wordsOf(line));
      const printed = `${stdout}\n${stderr}`;
      expect({ line, missing: firstMissing(shown, printed) }, printed).toEqual({ line, missing: null });
      expect({ line, code }).toEqual({ line, code: line.startsWith("gate") ? 3 : 0 });
    }
  });
});
