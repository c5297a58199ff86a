/** What a command loads to start: nothing that it does not need, counted instead of timed. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { BIN } from "../art-e.js";

let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "art-e-loaded-"));
  writeFileSync(
    join(folder, "hooks.mjs"),
    `import { appendFileSync } from "node:fs";
     export async function load(url, context, next) {
       appendFileSync(${JSON.stringify(join(folder, "loaded"))}, url + "\\n");
       return next(url, context);
     }`,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The modules that a command line loads: names of packages, and files of the program. */
function loadedBy(line: string): string[] {
  writeFileSync(join(folder, "loaded"), "");
  const register = `import { register } from "node:module"; register(${JSON.stringify(pathToFileURL(join(folder, "hooks.mjs")).href)});`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(register)}`, BIN, ...line.split(" ")],
    { cwd: folder, encoding: "utf8", env: { PATH: process.env.PATH } },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const urls = readFileSync(join(folder, "loaded"), "utf8").trim().split("\n");
  return urls
    .map((url) => /.*\/(?:node_modules\/((?:@[^/]+\/)?[^/]+)|(dist\/.+))/.exec(url))
    .map((found) => found?.[1] ?? found?.[2] ?? "");
}

it.each([
  ["--version", 3, /yargs|zod|cli\.js/],
  ["--help", 130, /^zod$|better-sqlite3|^dist\/(?:app\/run|store\/runs|models)\//],
  ["run --help", 290, /better-sqlite3|^dist\/(?:app\/questions|run-analysis\/gates|store\/runs)\//],
  ["score --help", 250, /better-sqlite3|genai-prices|^dist\/(?:sandbox|evalgen|store\/search)\//],
  ["serve --help", 230, /better-sqlite3|^hono$|protobufjs|^dist\/(?:app\/chat|store\/search)\//],
  ["ask --help", 260, /better-sqlite3|protobufjs|^dist\/(?:sandbox|tools\/builtin|store\/search)\//],
  ["mcp --help", 210, /@modelcontextprotocol|^dist\/(?:mcp|store\/search)\//],
  ["report --help", 220, /better-sqlite3|^dist\/(?:sandbox|evalgen|store\/search)\//],
  ["doctor --help", 210, /better-sqlite3|^dist\/sandbox\//],
  ["runs list --help", 230, /better-sqlite3|^dist\/(?:app\/runs|run-analysis)\//],
  ["agents list --help", 220, /better-sqlite3|^dist\/(?:sandbox|tools\/builtin)\//],
  ["agents list", 240, /^dist\/(?:sandbox|tools\/builtin|store\/search)\//],
  ["suite list --help", 220, /better-sqlite3|^dist\/sandbox\//],
])("art-e %s loads at most %i modules, and none that it does not need", (line, most, needless) => {
  const loaded = loadedBy(line);
  expect(loaded.filter((name) => needless.test(name))).toEqual([]);
  expect(loaded.length).toBeLessThanOrEqual(most);
});
