import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { cliFiles } from "./docs/cli-files.js";
import { MODELS_PAGE, modelsPage } from "./docs/model-tables.js";
import { NOTICES, noticesWithPackages } from "./docs/notices.js";

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
]);

/** Top-level files that no other module imports, with the reason. */
const INTERNAL_AT_THE_TOP: ReadonlyMap<string, string> = new Map([
  ["src/library/evals.ts", "Programs import it as art-e/evals."],
  ["src/server/access.ts", "A reviewer of the server's access control looks for it here."],
  ["src/web/dom.ts", "Shared by the two bundles, which nothing imports."],
  ["src/web/page-keys.ts", "Shared by the two bundles, like dom.ts."],
  ["src/web/theme-button.ts", "Shared by the two bundles, like dom.ts."],
]);

/** Files that may await inside a write transaction, with the reason. */
const LONG_WRITERS: ReadonlyMap<string, string> = new Map([
  ["src/mail/import/import-corpus.ts", "Imports all mail or none, and reads it on another thread."],
  ["src/runs/imported-run.ts", "Imports all traces of a file or none, and reads the file in between."],
]);

/** Files outside the store that begin transactions in SQL, with the reason. */
const TRANSACTION_OWNERS: ReadonlyMap<string, string> = new Map([
  ["src/mail/art-search.ts", "A table in memory, emptied by a rollback."],
  ["src/mail/import/atomic-import.ts", "Locks a leftover file before deleting it, and closes it immediately."],
  ["src/trace-formats/otlp/read/spans.ts", "A temporary file that no other program opens."],
]);

const namesOf = (files: readonly File[]) => files.map(({ name }) => name).sort();
const linesOf = (text: string) => text.trimEnd().split("\n");

describe("src", () => {
  it("has files that begin with a sentence that says what they are, in the modules where all do", () => {
    const described = ["evals", "library", "questions", "scoring", "statistics", "store", "tasks", "text"];
    const isDescribed = (text: string) => /^(\/\/ \S|\/\*\*)/.test(text);
    const files = SOURCES.filter(({ name }) => described.includes(name.split("/")[1] ?? ""));
    expect(namesOf(files.filter(({ text }) => !isDescribed(text)))).toEqual([]);
    expect(new Set(files.map(({ name }) => name.split("/")[1]))).toEqual(new Set(described));
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

  it("has only public files at the top of a module: those that another module imports", () => {
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

  it("tells where new files belong: into existing folders, and not among the public files of a module", () => {
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

  it("links only to existing files", () => {
    const pages = [{ name: "README.md", text: README }, ...MANUAL];
    const links = pages.flatMap(({ name, text }) =>
      [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target = ""]) => join(dirname(name), target)),
    );
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((path) => !/https?:/.test(path) && !existsSync(join(ROOT, path)))).toEqual([]);
  });

  const read = (path: string) => readFileSync(path, "utf8");
});
