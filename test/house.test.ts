import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { cliFiles } from "./docs/cli-files.js";
import { MODELS_PAGE, modelsPage } from "./docs/model-tables.js";
import { NOTICES, noticesWithPackages } from "./docs/notices.js";
import { FORBIDDEN_FILES, FORBIDDEN_NAMES } from "./forbidden-words.js";

const ROOT = join(import.meta.dirname, "..");

const filesBelow = (folder: string, extension: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(extension))
    .map((name) => ({ name: join(folder, name), text: readFileSync(join(ROOT, folder, name), "utf8") }));

const SOURCES = filesBelow("src", ".ts");
const MANUAL = filesBelow("docs", ".md");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

type File = (typeof SOURCES)[number];

/** The doors are where the program talks to the process it runs in. */
const isDoor = ({ name }: File) => name === "src/cli.ts" || /^src\/(cli|server|web)\//.test(name);

/** Files below the doors that use the process. */
const PROCESS_USERS: ReadonlyMap<string, string> = new Map([
  ["src/platform/environment.ts", "Reads the environment and .env once, for every door."],
  ["src/platform/proxies.ts", "Proxies apply to the process as a whole, like NODE_EXTRA_CA_CERTS, and not from .env."],
]);

const namesOf = (files: readonly File[]) => files.map(({ name }) => name).sort();
const linesOf = (text: string) => text.trimEnd().split("\n");

describe("in src", () => {
  it("there are files to check", () => expect(SOURCES.length).toBeGreaterThan(100));

  it("no command has SQL", () => {
    const sql = /\.prepare\(|\b(SELECT|INSERT INTO|DELETE FROM)\b/;
    const users = SOURCES.filter(({ name, text }) => name.startsWith("src/cli/") && sql.test(text));
    expect(namesOf(users)).toEqual([]);
  });

  it("there is no barrel and no drawer for odds and ends", () => {
    const drawer = /^(index|utils?|helpers?|common|misc)\.ts$/;
    expect(namesOf(SOURCES.filter(({ name }) => drawer.test(basename(name)) || /\butils?\//.test(name)))).toEqual([]);
  });

  it("nothing below the doors ends the process, reads the environment or writes to the terminal", () => {
    const spoken = /\bprocess\.(exit|exitCode|env|argv|stdin|stdout|stderr)\b|\bconsole\./;
    const users = SOURCES.filter((file) => !isDoor(file) && spoken.test(file.text));
    expect(namesOf(users).filter((name) => !PROCESS_USERS.has(name))).toEqual([]);
  });

  it("no check of the compiler or the linter is turned off without a reason", () => {
    const off = /@ts-(ignore|nocheck|expect-error)|biome-ignore(?! lint\/\S+: \S)/;
    expect(namesOf(SOURCES.filter(({ text }) => off.test(text)))).toEqual([]);
  });

  it("no line of a comment is wider than 120 characters", () => {
    const isWide = (line: string) => /^\s*(\/\/|\/?\*)/.test(line) && line.length > 120;
    const wide = SOURCES.filter(({ text }) => linesOf(text).some(isWide));
    expect(namesOf(wide)).toEqual([]);
  });

  it("files are named by words of the field", () => {
    const stem = ({ name }: File) => basename(name, ".ts");
    const old = SOURCES.filter((file) => FORBIDDEN_FILES.has(stem(file)) || /^(kept|keep)-/.test(stem(file)));
    expect(namesOf(old)).toEqual([]);
  });

  it("what files export is named by words of the field", () => {
    const exported = /^export (?:async |abstract )?(?:function\*?|const|class|interface|type) (\w+)/gm;
    const names = SOURCES.flatMap(({ name, text }) =>
      [...text.matchAll(exported)].map(([, word]) => `${name} ${word}`),
    );
    expect(names.length).toBeGreaterThan(500);
    const old = names.filter((entry) => FORBIDDEN_NAMES.has(entry.split(" ")[1] ?? ""));
    expect(old).toEqual([]);
  });
});

describe("the documentation", () => {
  it("begins with a README of at most 8 KB", () => expect(Buffer.byteLength(README)).toBeLessThanOrEqual(8192));

  it("has a page per command, with the usage and flags of --help (npm run docs writes them)", async () => {
    const pages = await cliFiles();
    const changed = [...pages].filter(([path, generated]) => !existsSync(path) || !read(path).startsWith(generated));
    expect(changed.map(([path]) => basename(path))).toEqual([]);
    expect(
      MANUAL.filter(({ name }) => name.startsWith("docs/cli/"))
        .map(({ name }) => join(ROOT, name))
        .sort(),
    ).toEqual([...pages.keys()].sort());
  });

  it("has the tables of the code on the page on models (npm run docs writes them)", () => {
    expect(read(MODELS_PAGE)).toBe(modelsPage());
  });

  it("names the license of every package that is installed with it (npm run docs writes them)", () => {
    expect(read(NOTICES)).toBe(noticesWithPackages());
  });

  it("names files of the source that there are", () => {
    const { text } = MANUAL.find(({ name }) => name === "docs/architecture.md") ?? { text: "" };
    const rooms = [...text.matchAll(/^\| `([a-z-]+)`.*\| (`.+) \|$/gm)].flatMap(([, room, files = ""]) =>
      [...files.matchAll(/`([^`]+)`/g)].map(([, file]) => `${room}/${file}`),
    );
    const files = [...text.matchAll(/`([a-z-]+\/[\w/.-]+?)`/g)].map(([, file = ""]) => file);
    expect(rooms.length).toBeGreaterThan(20);
    expect(files.length).toBeGreaterThan(60);
    const isThere = (path: string) =>
      ["", ".ts", ".tsx"].some(
        (extension) => existsSync(join(ROOT, "src", path + extension)) || existsSync(join(ROOT, path + extension)),
      );
    const named = new Set([...rooms, ...files.filter((path) => !path.includes("NAME"))]);
    expect([...named].filter((path) => !isThere(path) && !isThere(`web/${path}`))).toEqual([]);
  });

  it("has no link to a file that does not exist", () => {
    const pages = [{ name: "README.md", text: README }, ...MANUAL];
    const links = pages.flatMap(({ name, text }) =>
      [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target = ""]) => join(dirname(name), target)),
    );
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((path) => !/https?:/.test(path) && !existsSync(join(ROOT, path)))).toEqual([]);
  });

  const read = (path: string) => readFileSync(path, "utf8");
});
