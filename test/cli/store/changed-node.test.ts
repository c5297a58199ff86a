import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT, workFolder } from "../art-e.js";

const { path } = workFolder();

const NODE = Number.parseInt(process.versions.node, 10);

/** A copy of the program with a different better-sqlite3, as after a change of the Node version. */
function programWith(name: string, version: string, index: string): string {
  const folder = path(name);
  const packages = join(folder, "node_modules");
  mkdirSync(join(packages, "better-sqlite3"), { recursive: true });
  for (const part of ["bin", "dist", "sql", "package.json"])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  for (const other of readdirSync(join(ROOT, "node_modules"))) {
    if (other !== "better-sqlite3") symlinkSync(join(ROOT, "node_modules", other), join(packages, other));
  }
  writeFileSync(join(packages, "better-sqlite3/package.json"), JSON.stringify({ name: "better-sqlite3", version }));
  writeFileSync(join(packages, "better-sqlite3/index.js"), index);
  return folder;
}

function stats(folder: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, "bin/art-e.js"), "stats"], {
    cwd: path("."),
    encoding: "utf8",
    env: { PATH: process.env.PATH },
  });
  return { status, stdout, stderr };
}

const COMPILED_FOR_20 = `module.exports = class { constructor() {
  throw new Error("The module was compiled against a different Node.js version using\\nNODE_MODULE_VERSION 115. Rebuild it.");
} };`;

it("reports an installation for another Node version before the native code can end the process", {
  tags: ["slow"],
}, () => {
  const [installed, version] = NODE < 22 ? ["22 or newer", "13.2.0"] : ["20", "12.11.1"];
  const { status, stdout, stderr } = stats(programWith("other", version, "process.abort();"));
  expect(stderr).toMatch(
    new RegExp(
      `^art-e: art-e was installed under Node ${installed}, but this is Node \\d+: install art-e again\\.\n.+\n$`,
    ),
  );
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
});

it("names the Node version that SQLite was compiled for, and suggests npm ci in a checkout", () => {
  const folder = programWith("compiled", NODE < 22 ? "12.11.1" : "13.2.0", COMPILED_FOR_20);
  writeFileSync(join(folder, "package-lock.json"), "{}");
  const { status, stdout, stderr } = stats(folder);
  expect(stderr).toMatch(/^art-e: art-e was installed under Node 20, but this is Node \d+: run npm ci again\.\n.+\n$/);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
});

it("reports that the install script did not run", () => {
  const folder = programWith(
    "blocked",
    NODE < 22 ? "12.11.1" : "13.2.0",
    `module.exports = class { constructor() { throw new Error("Could not locate the bindings file. Tried:\\n → build"); } };`,
  );
  const { status, stderr } = stats(folder);
  expect(stderr).toMatch(/^art-e: Cannot load SQLite: the install script of better-sqlite3 did not run\.\n.+approve/);
  expect(status).toBe(2);
});
