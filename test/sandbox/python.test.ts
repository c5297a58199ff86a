import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedLibraries } from "../../src/sandbox/python.js";
import { needs } from "../machine-requirements.js";

const PYTHON = "/usr/bin/python3";

describe("sharedLibraries", needs("sandbox", process.platform === "linux" && existsSync(PYTHON)), () => {
  const folder = mkdtempSync(join(tmpdir(), "art-e shared-"));
  let program: string;
  let modules: readonly string[];

  beforeAll(() => {
    program = realpathSync(PYTHON);
    const ssl = execFileSync(program, ["-I", "-S", "-c", "import _ssl; print(_ssl.__file__)"], { encoding: "utf8" });
    modules = readdirSync(dirname(ssl))
      .filter((name) => /^_(?:ssl|sqlite3|lzma|json)\./.test(name))
      .map((name) => join(dirname(ssl), name));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const byLdd = (files: readonly string[]) => {
    const lines = execFileSync("ldd", files, { encoding: "utf8" }).matchAll(/(\/\S+) \(0x/g);
    return [...new Set([...lines].map(([, path = ""]) => path))].sort();
  };

  it("lists what ldd lists for each file, without the modules", async () => {
    expect(modules.length).toBeGreaterThan(2);
    const expected = byLdd([program, ...modules]);
    expect(expected.length).toBeGreaterThan(byLdd([program]).length);
    expect(await sharedLibraries(program, modules)).toEqual(expected);
    expect(await sharedLibraries(program)).toEqual(byLdd([program]));
  });

  it("lists the same if a path contains a space", async () => {
    const copies = modules.map((module) => join(folder, basename(module)));
    for (const [i, copy] of copies.entries()) copyFileSync(modules[i] ?? "", copy);
    expect(await sharedLibraries(program, copies)).toEqual(byLdd([program, ...modules]));
  });
});
