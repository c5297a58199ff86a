import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Command } from "../src/commands/cli/command.js";
import { ROOT, workFolder } from "./commands/art-e.js";

const SOURCES = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => ({ name, text: readFileSync(join(ROOT, "src", name), "utf8") }));

/** The doors, where the process is spoken to. */
const isDoor = (name: string) => name === "cli.ts" || /^(commands|servers)\//.test(name);

const namesOf = (sources: typeof SOURCES) => sources.map(({ name }) => name);

describe("in src", () => {
  it("there is something to look at", () => expect(SOURCES.length).toBeGreaterThan(100));

  it("no file is longer than 300 lines", () => {
    expect(namesOf(SOURCES.filter(({ text }) => text.split("\n").length > 301))).toEqual([]);
  });

  it("there is no barrel and no drawer for odds and ends", () => {
    const named = /^(index|utils?|helpers?|common|misc)\.ts$/;
    expect(namesOf(SOURCES.filter(({ name }) => named.test(basename(name)) || /\butils?\//.test(name)))).toEqual([]);
  });

  it("nothing below the doors ends the process, reads the environment or writes to the terminal", () => {
    const spoken = /\bprocess\.(exit|exitCode|env|argv|stdin|stdout|stderr)\b|\bconsole\./;
    expect(namesOf(SOURCES.filter(({ name, text }) => !isDoor(name) && spoken.test(text)))).toEqual([]);
  });

  it("no check of the compiler or the linter is turned off without a reason", () => {
    const off = /@ts-(ignore|nocheck|expect-error)|biome-ignore(?! lint\/\S+: \S)/;
    expect(namesOf(SOURCES.filter(({ text }) => off.test(text)))).toEqual([]);
  });
});

describe("README.md", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const { artE } = workFolder();
  const commands: Command[] = [];

  beforeAll(async () => {
    for (const { name } of SOURCES.filter((source) => source.name.startsWith("commands/"))) {
      const module: Record<string, unknown> = await import(/* @vite-ignore */ `../src/${name.replace(/\.ts$/, ".js")}`);
      commands.push(...Object.values(module).filter(isCommand));
    }
  });

  it("names every command that --help lists", async () => {
    const { stdout } = await artE("--help");
    const listed = [...stdout.matchAll(/^ {2}art-e ([a-z-]+)/gm)].map(([, name = ""]) => name);
    expect(listed).toHaveLength(commands.length);
    expect(listed.filter((name) => !new RegExp(`art-e ${name}\\b(?!-)`).test(readme))).toEqual([]);
    const global = [...stdout.matchAll(/^ +(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag = ""]) => flag);
    expect(global).toContain("--cache-dir");
    expect(global.filter(isNotNamed)).toEqual([]);
  });

  it("names every flag of every command", () => {
    const flags = commands.flatMap((command) =>
      Object.entries(command.flags).flatMap(([name, { alias = [] }]) => [name, ...[alias].flat()]),
    );
    expect(flags).toEqual(expect.arrayContaining(["dataset", "csv-path", "min-score", "owner-map"]));
    const written = [...new Set(flags)].map((name) => (name.length === 1 ? `-${name}` : `--${name}`));
    expect(written.filter(isNotNamed)).toEqual([]);
  });

  const isCommand = (value: unknown): value is Command =>
    typeof value === "object" && value !== null && "flags" in value && "run" in value;
  const isNotNamed = (flag: string) => !new RegExp(`(?<![a-z-])${flag}(?![a-z-])`).test(readme);
});
