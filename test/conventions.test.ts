import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { cliFiles } from "../write-docs/cli-files.js";
import { ABOUT_VERDICTS } from "../write-docs/cli-page.js";
import { MODELS_PAGE, modelsPage } from "../write-docs/model-tables.js";
import { NOTICES, noticesWithPackages } from "../write-docs/notices.js";

const ROOT = join(import.meta.dirname, "..");

const filesBelow = (folder: string, extension: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(extension))
    .map((name) => ({ name: join(folder, name), text: readFileSync(join(ROOT, folder, name), "utf8") }));

const SOURCES = filesBelow("src", ".ts");
const MANUAL = filesBelow("docs", ".md");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

type File = (typeof SOURCES)[number];

/** The entry points may use the process: its arguments, environment, streams and exit code. */
const isEntryPoint = ({ name }: File) => name === "src/cli.ts" || /^src\/(cli|server|web)\//.test(name);

/** Other files that use the process, with the reason. */
const PROCESS_USERS: ReadonlyMap<string, string> = new Map([
  ["src/platform/environment.ts", "Reads the environment and .env once, for every entry point."],
  ["src/library/options/context.ts", "The environment is the default of an option, and is read in each call."],
  [
    "src/platform/proxied-fetch/proxies.ts",
    "Proxies apply to the process as a whole, like NODE_EXTRA_CA_CERTS, and not from .env.",
  ],
  ["src/results/runs-over-mcp/query-process.ts", "A program of its own, which reads stdin and prints its answer."],
]);

/** Top-level files that no other module imports, with the reason. */
const INTERNAL_AT_THE_TOP: ReadonlyMap<string, string> = new Map([
  ["src/library/evals.ts", "Programs import it as art-e/evals."],
  ["src/library/vitest.ts", "Programs import it as art-e/vitest."],
  ["src/server/access.ts", "A reviewer of the server's access control looks for it here."],
  ["src/web/dom.ts", "Shared by the two bundles, which nothing imports."],
  ["src/web/page-keys.ts", "Shared by the two bundles, like dom.ts."],
  ["src/web/theme-button.ts", "Shared by the two bundles, like dom.ts."],
]);

/** Files that may await inside a write transaction, with the reason. */
const LONG_WRITERS: ReadonlyMap<string, string> = new Map([
  ["src/mail/import/import-corpus.ts", "Imports all mail or none, and reads it on another thread."],
  ["src/results/import-run.ts", "Imports all traces of a file or none, and reads the file in between."],
]);

/** Files outside the store that begin transactions in SQL, with the reason. */
const TRANSACTION_OWNERS: ReadonlyMap<string, string> = new Map([
  ["src/mail/art-search.ts", "A table in memory, emptied by a rollback."],
  ["src/mail/import/atomic-import.ts", "Locks a leftover file before deleting it, and closes it immediately."],
  ["src/trace-formats/otlp/read/spans.ts", "A temporary file that no other program opens."],
]);

/** Tests that import a file inside another module's folder, with the reason. */
const INSIDE_OTHER_MODULES: ReadonlyMap<string, string> = new Map([
  ["test/platform/huggingface.test.ts", "Loads questions from a hub that fails in many ways."],
  ["test/reports/eval-page.test.ts", "Measures the agreement that a page shows."],
  ["test/results/figures-agree.test.ts", "Compares the figures of the pages' API without a server."],
  ["test/server/evals-page.test.ts", "Measures the agreement that a page shows."],
  ["test/server/every-page.ts", "Opens every section of the pages, by their own list."],
  ["test/statistics/prediction-powered.test.ts", "Draws labels like the program, with their weights."],
  ["test/text/tokenizer.test.ts", "Compares SQLite's index with the words that a page marks."],
  ["test/tools/load-tools.test.ts", "Searches a suite's documents with the tools."],
  ["test/tools/machine-files.test.ts", "Uses the tools in a task's folder, without a sandbox."],
  ["test/trace-formats/readers.test.ts", "Makes the same demands of the readers of mail and of traces."],
  ["test/traces/earlier-calls.test.ts", "Compares the calls in a trace with the calls that evals receive."],
]);

/** Files with messages about evals, and pages that explain them. */
const SAYS_EVALS =
  /^src\/(evals|error-analysis|reports|web|cli\/commands\/evals|server\/(routes|eval-jobs|response-shapes))\b/;
const EXPLAINS_EVALS = /(evals?|error-analysis|eval-files|label-traces|scoring-and-judge|concepts|glossary|flags)\.md$/;

/** Other words for what evals measure, with the one that is used. */
const OTHER_WORDS: readonly (readonly [other: RegExp, word: string])[] = [
  [/false[ _]failures?(?![ _]rate)|false alarms?/i, "false failure rate"],
  [/\b(training|held-out) half\b/i, "labels that are (not) held out for tests"],
  [/\b(called|same as) (coverage|recall)\b/i, "TNR, TPR"],
  [/\b(same chance|better than chance)\b/i, "probability"],
];

const namesOf = (files: readonly File[]) => files.map(({ name }) => name).sort();
const linesOf = (text: string) => text.trimEnd().split("\n");

describe("src", () => {
  it("has files that begin with a sentence that says what they are", () => {
    const isDescribed = (text: string) => /^(\/\/ \S|\/\*\*)/.test(text);
    expect(namesOf(SOURCES.filter(({ text }) => !isDescribed(text)))).toEqual([]);
  });

  it("contains no SQL in commands", () => {
    const sql = /\.prepare\(|\b(SELECT|INSERT INTO|DELETE FROM)\b/;
    const users = SOURCES.filter(({ name, text }) => name.startsWith("src/cli/") && sql.test(text));
    expect(namesOf(users)).toEqual([]);
  });

  it("contains neither barrels nor junk drawers", () => {
    const junkDrawer = /^(index|utils?|helpers?|common|misc)\.ts$/;
    expect(namesOf(SOURCES.filter(({ name }) => junkDrawer.test(basename(name)) || /\butils?\//.test(name)))).toEqual(
      [],
    );
  });

  it("accesses `process` only in entry points", () => {
    const usesProcess = /\bprocess\.(exit|exitCode|env|argv|stdin|stdout|stderr)\b|\bconsole\./;
    const users = SOURCES.filter((file) => !isEntryPoint(file) && usesProcess.test(file.text));
    expect(namesOf(users).filter((name) => !PROCESS_USERS.has(name))).toEqual([]);
  });

  it("sets the text of pages only through dom.ts, which replaces control characters", () => {
    const setsText = /\.(textContent|innerText|innerHTML|outerHTML) \+?=(?!=)|insertAdjacent|createTextNode/;
    const pages = SOURCES.filter(({ name }) => name.startsWith("src/web/"));
    expect(namesOf(pages.filter(({ text }) => setsText.test(text)))).toEqual(["src/web/dom.ts"]);
  });

  it("awaits inside a write transaction only in imports", () => {
    const inStore = ({ name }: File) => name.startsWith("src/store/");
    const begins = /(exec|prepare)\("[^"]*\bBEGIN\b|withImportTransaction\(/;
    const users = namesOf(SOURCES.filter((file) => !inStore(file) && begins.test(file.text)));
    expect(users).toEqual([...LONG_WRITERS.keys(), ...TRANSACTION_OWNERS.keys()].sort());
  });

  it("gives a reason for each disabled compiler or linter check", () => {
    const off = /@ts-(ignore|nocheck|expect-error)|biome-ignore(?! (lint\/\S+|format): \S)/;
    expect(namesOf(SOURCES.filter(({ text }) => off.test(text)))).toEqual([]);
  });

  it("has only public files, which another module imports, at the top of a module", () => {
    const moduleOf = (path: string) => path.split("/")[1];
    const imported = SOURCES.flatMap(({ name, text }) =>
      [...text.matchAll(/(?:from|import\()\s*"(\.{1,2}\/[^"]+)\.js"/g)]
        .map(([, path = ""]) => join(dirname(name), `${path}.ts`))
        .filter((path) => moduleOf(path) !== moduleOf(name)),
    );
    const isTopLevel = (name: string) => name.split("/").length === 3;
    const unused = namesOf(SOURCES).filter((name) => isTopLevel(name) && !imported.includes(name));
    expect(unused.filter((name) => !INTERNAL_AT_THE_TOP.has(name))).toEqual([]);
  });

  it("does not contain comment lines longer than 120 characters", () => {
    const isWide = (line: string) => /^\s*(\/\/|\/?\*)/.test(line) && line.length > 120;
    const wide = SOURCES.filter(({ text }) => linesOf(text).some(isWide));
    expect(namesOf(wide)).toEqual([]);
  });
});

describe("test files", () => {
  it("use other modules only through their public files", () => {
    const modules = (path: string) => path.split("/").slice(1, path.startsWith("test/cli/") ? 3 : 2);
    const isInside = (path: string, user: string) => {
      const [root, module = "", ...rest] = path.split("/");
      return root === "src" && rest.length > 1 && !modules(user).includes(module);
    };
    const users = filesBelow("test", ".ts").filter(({ name, text }) =>
      [...text.matchAll(/(?:from|import\()\s*"(\.{1,2}\/[^"]+)"/g)].some(([, path = ""]) =>
        isInside(join(dirname(name), path), name),
      ),
    );
    expect(namesOf(users)).toEqual([...INSIDE_OTHER_MODULES.keys()]);
  });

  it("have names that can be read alone", () => {
    expect(testNames().length).toBeGreaterThan(4_000);
    expect(testNames().flatMap(({ where, kind, name }) => faultsOf(kind, name).map((fault) => [where, fault]))).toEqual(
      [],
    );
  });
});

/** The names of describe and of tests, as written in the source: after `it(`, `it.each(ROWS)(` or the end of a table. */
function testNames() {
  const files = ["test", "packaging", "mutation"].flatMap((folder) => filesBelow(folder, ".test.ts"));
  const call =
    /\b(describe|it|test)(?:\.(?:each|for|runIf|skipIf))?(?:<[^()]*>)?\((?:[^()"`]*\)\()?\s*("[^"\n]*"|`[^`\n]*`),/g;
  const afterTable = /\](?: as const)?,?\s*()\)\(\s*("[^"\n]*"|`[^`\n]*`),/g;
  return files.flatMap(({ name: where, text }) =>
    [call, afterTable].flatMap((pattern) =>
      [...text.matchAll(pattern)].map(([, kind, name = ""]) => ({ where, kind, name: name.slice(1, -1) })),
    ),
  );
}

/** The rules for test names that a program can check. CONTRIBUTING.md has the others. */
function faultsOf(kind: string | undefined, name: string): string[] {
  const words = name.replace(/%[sdifjoO#]|\$\{[^}]*\}|\$\w+/g, "");
  const faults: readonly (readonly [isFault: boolean, rule: string])[] = [
    [/[,:;]$/.test(name), "ends in the middle of a sentence"],
    [!/[A-Za-z]/.test(words), "does not say what varies"],
    [/[A-Za-z)\]]: /.test(name), "has a colon in the middle"],
    [/(?<!-)\binboxes\b|\bmails\b/.test(name), "uses another word than mailbox or email"],
    [kind !== "describe" && /^(?:if|of|in|as|that|and|but|is|are|was|were) /.test(name), "does not begin with a verb"],
  ];
  return faults.flatMap(([isFault, rule]) => (isFault ? [`${rule}: ${name}`] : []));
}

describe("the documentation", () => {
  it("starts with a README of at most 8 KB", () => expect(Buffer.byteLength(README)).toBeLessThanOrEqual(8192));

  it("has one page per command with the usage and flags in --help (written by npm run docs)", async () => {
    const pages = await cliFiles();
    const changed = [...pages].filter(([path, generated]) => !existsSync(path) || !read(path).startsWith(generated));
    expect(changed.map(([path]) => basename(path))).toEqual([]);
    expect(
      MANUAL.filter(({ name }) => name.startsWith("docs/cli/"))
        .map(({ name }) => join(ROOT, name))
        .sort(),
    ).toEqual([...pages.keys()].sort());
  });

  it("shows the tables from the code on the page about models (written by npm run docs)", () => {
    expect(read(MODELS_PAGE)).toBe(modelsPage());
  });

  it("lists the license of every installed package (written by npm run docs)", () => {
    expect(read(NOTICES)).toBe(noticesWithPackages());
  });

  it("mentions only existing source files", () => {
    const { text } = MANUAL.find(({ name }) => name === "docs/architecture.md") ?? { text: "" };
    const startingPoints = [...text.matchAll(/^\| `([a-z-]+)`.*\| (`.+) \|$/gm)].flatMap(([, module, files = ""]) =>
      [...files.matchAll(/`([^`]+)`/g)].map(([, file]) => `${module}/${file}`),
    );
    const files = [...text.matchAll(/`([a-z-]+\/[\w/.-]+?)`/g)].map(([, file = ""]) => file);
    expect(startingPoints.length).toBeGreaterThan(20);
    expect(files.length).toBeGreaterThan(60);
    const exists = (path: string) =>
      ["", ".ts", ".tsx"].some(
        (extension) => existsSync(join(ROOT, "src", path + extension)) || existsSync(join(ROOT, path + extension)),
      );
    const named = new Set([...startingPoints, ...files.filter((path) => !path.includes("NAME"))]);
    expect([...named].filter((path) => !exists(path) && !exists(`web/${path}`))).toEqual([]);
  });

  it("shows in which existing folders new files belong, not among the public files of a module", () => {
    const { text } = MANUAL.find(({ name }) => name === "docs/architecture.md") ?? { text: "" };
    const table = text.slice(text.indexOf("## Adding something"), text.indexOf("## Index"));
    const rows = [...table.matchAll(/^\| ([^|]+) \| ([^|]+) \| (.+) \|$/gm)].slice(2);
    const pathsIn = (cell = "") => [...cell.matchAll(/`([a-z-]+\/[\w/.-]*)`/g)].map(([, path = ""]) => path);
    expect(rows.length).toBeGreaterThan(15);
    for (const [, what, file = "", edited = ""] of rows) {
      const added = pathsIn(file).filter((path) => /\bNAME/.test(path));
      const folders = added.map((path) => path.replace("FORMAT", "otlp").split("/").slice(0, -1));
      const wrong = folders.filter((parts) => parts.length < 2 || !existsSync(join(ROOT, "src", ...parts)));
      expect({ what, wrong }).toEqual({ what, wrong: [] });
      const missing = pathsIn(edited).filter(
        (path) => !path.includes("NAME") && !existsSync(join(ROOT, "src", path)) && !existsSync(join(ROOT, path)),
      );
      expect({ what, missing }).toEqual({ what, missing: [] });
    }
  });

  it("links to the page about verdicts from each page about headline scores, gates or failed tasks", () => {
    const pages = MANUAL.filter(({ name, text }) => ABOUT_VERDICTS.test(text) && !name.endsWith("/verdicts.md"));
    expect(pages.length).toBeGreaterThan(20);
    expect(pages.flatMap(({ name, text }) => (text.includes("verdicts.md") ? [] : [name]))).toEqual([]);
  });

  it("links only to existing files", () => {
    const pages = [{ name: "README.md", text: README }, ...MANUAL];
    const links = pages.flatMap(({ name, text }) =>
      [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target = ""]) => join(dirname(name), target)),
    );
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((path) => !/https?:/.test(path) && !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("links only to existing headings", () => {
    const pages = new Map([{ name: "README.md", text: README }, ...MANUAL].map(({ name, text }) => [name, text]));
    const links = [...pages].flatMap(([name, text]) =>
      [...text.matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)].map(([, target, heading = ""]) => ({
        from: name,
        to: target ? join(dirname(name), target) : name,
        heading,
      })),
    );
    expect(links.length).toBeGreaterThan(50);
    const wrong = links.filter(
      ({ to, heading }) => pages.has(to) && !headingsOf(pages.get(to) ?? "").includes(heading),
    );
    expect(wrong).toEqual([]);
  });

  it("explains each word once in the glossary", () => {
    const { text } = MANUAL.find(({ name }) => name === "docs/glossary.md") ?? { text: "" };
    const rows = [...text.matchAll(/^\| (?!term \||-)([^|]+) \|/gm)].map(([, terms = ""]) => terms.split(", "));
    const words = [...rows.flat(), ...[...text.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word = ""]) => word)];
    expect(words.length).toBeGreaterThan(80);
    expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([]);
  });

  it("names each figure of evals by one word, on the pages, in messages and in the fields of JSON", () => {
    const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
    const messages = SOURCES.filter(({ name }) => SAYS_EVALS.test(name)).map(({ name, text }) => ({
      name,
      text: withoutComments(text),
    }));
    const pages = MANUAL.filter(({ name }) => EXPLAINS_EVALS.test(name));
    const fields = [...read(join(ROOT, "schema/outputs.schema.json")).matchAll(/"description":"([^"]*)"/g)]
      .map(([, text = ""]) => ({ name: "schema/outputs.schema.json", text }))
      .filter(({ text }) => /\b(evals?|labels?|traces)\b/.test(text));
    expect([messages.length > 60, pages.length > 10, fields.length > 100]).toEqual([true, true, true]);
    const found = [...messages, ...pages, ...fields].flatMap(({ name, text }) =>
      OTHER_WORDS.flatMap(([other, word]) => (other.test(text) ? [`${name}: ${other} instead of ${word}`] : [])),
    );
    expect(found).toEqual([]);
    const wrongLabels = messages.filter(({ text }) => text.includes("labels are wrong"));
    expect(namesOf(wrongLabels)).toEqual(["src/evals/label-error-correction.ts"]);
  });

  it("lists every decision in the index, with its context and what was measured", () => {
    const pages = MANUAL.filter(({ name }) => /^docs\/decisions\/\d{4}-/.test(name));
    const { text: index } = MANUAL.find(({ name }) => name === "docs/decisions/README.md") ?? { text: "" };
    expect(pages.length).toBeGreaterThanOrEqual(20);
    expect(pages.flatMap(({ name }) => (index.includes(`(${basename(name)})`) ? [] : [name]))).toEqual([]);
    const parts = ["**Context.**", "**Decision.**", "**Measured.**"];
    expect(pages.flatMap(({ name, text }) => parts.filter((part) => !text.includes(part)).map(() => name))).toEqual([]);
  });

  const read = (path: string) => readFileSync(path, "utf8");
});

/** The headings of a page in the form of its links: lower case, without punctuation, with hyphens between words. */
function headingsOf(page: string): string[] {
  const withoutCode = page.replace(/^```[\s\S]*?^```/gm, "");
  return [...withoutCode.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-"),
  );
}
