import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as attw from "@arethetypeswrong/core";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, MAIL, QUESTIONS, ROOT, startProgram } from "../cli/art-e.js";
import { startFakeProvider } from "../providers/fake-provider.js";

/** The library as users get it: unpacked from the package, in a project that has only the package's dependencies. */

const PAGE = readFileSync(join(ROOT, "docs/library.md"), "utf8");
const EXAMPLES = [...PAGE.matchAll(/^```typescript\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code);

let folder: string;
let tarball: string;
/** The TypeScript compiler's result for all programs. */
let compiled: Ended;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "art-e-library-"));
  const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  tarball = join(folder, execFileSync("npm", pack, { cwd: ROOT, encoding: "utf8" }).trim());
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@types"), { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", modules]);
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), "@types/node", "undici-types"]) {
    mkdirSync(join(modules, name, ".."), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
  cpSync(join(modules, "package"), join(modules, "art-e"), { recursive: true });
  cpSync(MAIL, join(folder, "maildir"), { recursive: true });
  cpSync(QUESTIONS, join(folder, "questions.jsonl"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const [name, code] of Object.entries(PROGRAMS)) writeFileSync(join(folder, `${name}.ts`), code);
  const options = "--strict --outDir js --target es2022 --module nodenext --exactOptionalPropertyTypes".split(" ");
  const files = Object.keys(PROGRAMS).map((name) => `${name}.ts`);
  compiled = await startProgram(folder, process.execPath, [TSC, ...options, ...files], {}).ended;
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const example = (text: string) => EXAMPLES.find((code) => code.includes(text)) ?? "";

/** The programs by name: the page's examples, and a rubric that was exported. */
const PROGRAMS: Readonly<Record<string, string>> = {
  first: example("importMail("),
  metrics: example("averageLength"),
  scorer: example("defineScorer({"),
  agent: example("AgentFunction"),
  stop: example("AbortSignal.timeout"),
  mail: example("database.search"),
  eval: `${example("defineEval(")}\nconsole.log("ok");`,
  rubric: `import { evalFunction } from "art-e/evals";
    const polite = evalFunction({ name: "polite", criterion: "x", kind: "rubric", rubric: "Polite.", model: "anthropic/x" });
    const input = { question: "?", inbox: null, date: null, taskId: 1, suite: null };
    const trace = { messages: [], toolCalls: [], turns: [], ending: "answered", durationMs: 1 };
    console.log(JSON.stringify(await polite(input, "Thank you.", trace)));`,
};

/** Runs a program, and returns the lines that it prints. */
async function run(name: keyof typeof PROGRAMS, environment = {}): Promise<string[]> {
  const ran = startProgram(folder, process.execPath, [`js/${name}.js`], environment);
  const { code: exitCode, stdout, stderr } = await ran.ended;
  expect([exitCode, stderr]).toEqual([0, ""]);
  return stdout.trimEnd().split("\n");
}

/** Returns a built file and the files that it imports statically, and so on. Throws for a package. */
function importedFiles(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/^(?:import|export)\b[^"\n]*"([^"]+)";$/gm)) {
    if (name.startsWith(".")) importedFiles(join(file, "..", name), seen);
    else if (!name.startsWith("node:")) throw new Error(`${file} imports ${name}`);
  }
  return [...seen];
}

const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

describe("the package", () => {
  it("has exports and types that publint and attw accept", async () => {
    const { messages } = await publint({ pkgDir: join(folder, "node_modules/art-e"), strict: true, pack: false });
    expect(messages.filter(({ type }) => type !== "suggestion")).toEqual([]);
    const checked = await attw.checkPackage(attw.createPackageFromTarballData(readFileSync(tarball)));
    if (checked.types === false) throw new Error("the package has no types");
    // A CommonJS program can import the package only with import(), because it consists of ES modules.
    const problems = checked.problems.filter(({ kind }) => kind !== "CJSResolvesToESM");
    // TypeScript's old module resolution does not know `exports`.
    expect(problems.filter((problem) => !("resolutionKind" in problem && problem.resolutionKind === "node10"))).toEqual(
      [],
    );
  });

  it("loads only a few small files of its own when imported, and has no effect", async () => {
    const loaded = importedFiles(join(ROOT, "dist/library.js"));
    expect(loaded.length).toBeLessThan(10);
    expect(loaded.reduce((bytes, file) => bytes + statSync(file).size, 0)).toBeLessThan(30_000);
    const code = `
      const before = [process.getActiveResourcesInfo().length, Object.keys(globalThis).length, process.eventNames().length];
      await import("art-e");
      const after = [process.getActiveResourcesInfo().length, Object.keys(globalThis).length, process.eventNames().length];
      console.log(JSON.stringify(before) === JSON.stringify(after));`;
    writeFileSync(join(folder, "import.mjs"), code);
    const ended = await startProgram(folder, process.execPath, ["import.mjs"], {}).ended;
    expect(ended).toEqual({ code: 0, stdout: "true\n", stderr: "" });
  });
});

describe("docs/library.md", () => {
  it("contains the examples that this file runs", () => expect(EXAMPLES.length).toBe(7));

  it("contains examples without type errors", () => expect(compiled).toMatchObject({ code: 0, stdout: "" }));

  it("imports mail and runs the benchmark", async () => {
    const [line] = await run("first");
    expect(line).toMatch(/^run_\S+ 0\.\d+$/);
  });

  it("computes the average length of the answers and the tool calls per answer", async () => {
    const [line = ""] = await run("metrics");
    expect(line).toMatch(/averageLength: \d+\.\d+, callsPerAnswer: [1-9]/);
  });

  it("adds a scorer and shows progress", async () => {
    const lines = await run("scorer");
    expect(lines).toEqual([...Array.from({ length: 20 }, (_, i) => `${i + 1} of 20`), expect.stringMatching(/^[01]/)]);
  });

  it("runs an agent that is a function", async () => {
    expect(Number((await run("agent"))[0])).toBeGreaterThan(0.5);
  });

  it("stops, continues, and reads mail and traces", async () => {
    expect(Number((await run("stop"))[0])).toBeGreaterThan(3);
    const lines = await run("mail");
    expect(lines.filter((line) => / answered \d+$/.test(line)).length).toBeGreaterThan(10);
    expect(lines[0]).toMatch(/softball/i);
  });

  it("runs a rubric exported as TypeScript, with the key in the environment", async () => {
    const provider = await startFakeProvider(() => ({
      toolCalls: [{ name: "record_result", arguments: { reason: "It is kind.", result: "pass" } }],
    }));
    const environment = { ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: provider.url };
    const lines = await run("rubric", environment);
    await provider.close();
    expect(lines).toEqual(['{"score":1,"reason":"It is kind."}']);
    expect(provider.requests.length).toBe(1);
  });

  it("contains a valid eval", async () => {
    expect(await run("eval")).toEqual(["ok"]);
  });
});
