import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { addressOf, BIN, MAIL, MARCUS, QUESTIONS, workFolder } from "./art-e.js";

/** Command lines in messages work when pasted, whatever the file names. */

const work = workFolder();
const FOLDER = "Marcus' mail";
const DB = `${FOLDER}/all of it.db`;
const SHOWN = `--db 'Marcus'\\'' mail/all of it.db'`;

beforeAll(async () => {
  mkdirSync(work.path(FOLDER));
  mkdirSync(work.path("bin"));
  symlinkSync(BIN, work.path("bin/art-e"));
  const imported = await artE(["import", MAIL]);
  expect(imported).toContain(`search ${MARCUS} WORDS ${SHOWN}`);
});

/** The entire output of a command line. */
async function artE(words: readonly string[]): Promise<string> {
  const { stdout, stderr } = await work.artE([...words, "--db", DB], {
    PATH: `${work.path("bin")}:${process.env.PATH}`,
  });
  return stdout + stderr;
}

/** The line after `before` is run in a shell. */
function paste(text: string, before: string): string {
  const line = text.slice(text.indexOf(before) + before.length).split("\n")[0] ?? "";
  expect(line).toMatch(/^art-e /);
  const env = { PATH: `${work.path("bin")}:${process.env.PATH}`, HOME: work.path("") };
  return execFileSync("bash", ["-c", line], { cwd: work.path(""), env, encoding: "utf8" });
}

it("a suggested command works when pasted", async () => {
  const ran = await artE(["run", "-a", "baseline", "--dataset", QUESTIONS, "-l", "2", "-o", `${FOLDER}/r s.json`]);
  const shown = ran.replace("/TASK", "/1").replace(/ --db '[^\n]*(?=, art-e)/, (flag) => `${flag}\n`);
  expect(paste(shown, "Traces:   ")).toContain("Merriwell");
  expect(paste(shown, "Evals:    ")).toContain("No coded traces");

  expect(paste(await artE(["runs", "show"]), "Show a complete task: ")).toContain("tool");
  expect(paste(await artE(["runs", "delete", "latest"]), "Pass the run id: ")).toContain("baseline");
  expect(paste(await artE(["agents", "clone", "baseline", "mine"]), "Show it: ")).toContain("mine");

  const named = await artE(["runs", "rename", "latest", "my run"]);
  expect(named).toContain('is named "my run"');
});

it.each([
  ["search", MARCUS, "Merriwell"],
  ["show", "<no@mail>"],
  ["gate", "latest", "--fail-under", "accuracy=1"],
  ["run", "--resume", "latest", "--model-id", "openai/other"],
  ["run", "-a", "nobody", "--dataset", QUESTIONS],
  ["evals", "list"],
  ["evals", "suggest"],
  ["agents", "set", "baseline", "--max-turns", "2"],
  ["tools", "delete", "email_search"],
  ["runs", "show", "nothing"],
])("the commands that art-e %s suggests name the database", async (...words) => {
  const text = await artE(words);
  const lines = text.match(/\bart-e (?:agents|evals|run|runs|score|search|show|stats|tools) [^\n]*/g) ?? [];
  expect(lines.length, text).toBeGreaterThan(0);
  for (const line of lines.filter((each) => !each.includes("--help"))) expect(line).toContain(SHOWN);
});

it("suggested commands omit the database if a command without it opens the same one", async () => {
  const text = async (words: string) => {
    const { stdout, stderr } = await work.artE(words);
    return stdout + stderr;
  };
  expect(await text(`import ${MAIL}`)).toMatch(/search \S+ WORDS\n/);
  work.write("art-e.yaml", `database: ./${FOLDER}/all of it.db\n`);
  expect(await text("evals list")).toMatch(/art-e evals suggest$/m);
  expect(await text("evals list --db art-e.db")).toMatch(/art-e evals suggest --db art-e\.db$/m);
});

it("suggested commands hide file names on the server's machine from a server's clients", async () => {
  const started = work.start(["serve", "--port", "0", "--db", DB, "--json"]);
  const response = await fetch(`${await addressOf(started)}/api/agents/nobody`);
  const text = await response.text();
  started.child.kill("SIGTERM");
  expect(text).toContain("art-e agents list");
  expect(text).not.toContain(join(FOLDER, "all"));
});
