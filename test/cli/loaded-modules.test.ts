import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { BIN, MARCUS } from "./art-e.js";

/** What a command loads to start: nothing that it does not need, counted instead of timed. */

let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "art-e-loaded-"));
  copyFileSync(inject("demoDatabase"), join(folder, "art-e.db"));
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
  ["--help", 130, /^zod$|better-sqlite3|^dist\/(?:runs|traces|models)\//],
  ["run --help", 290, /better-sqlite3|^dist\/(?:questions\/|traces\/(?:runs|traces|results)-store)/],
  ["score --help", 250, /better-sqlite3|genai-prices|^dist\/(?:sandbox|mail|evals(?!\/definition))\//],
  ["serve --help", 230, /better-sqlite3|^hono$|protobufjs|^dist\/(?:agents|mail)\//],
  ["ask --help", 260, /better-sqlite3|protobufjs|^dist\/(?:sandbox|tools|mail)\//],
  ["mcp --help", 210, /@modelcontextprotocol|^dist\/(?:tools|mail)\//],
  ["report --help", 220, /better-sqlite3|^dist\/(?:sandbox|evals|mail)\//],
  ["doctor --help", 210, /better-sqlite3|^dist\/(?:sandbox|mail)\//],
  ["runs list --help", 230, /better-sqlite3|^dist\/(?:runs|analysis)\//],
  ["agents list --help", 220, /better-sqlite3|^dist\/(?:sandbox|tools)\//],
  ["agents list", 220, /^dist\/(?:sandbox|mail|tools\/(?!tool\.js))/],
  [`search ${MARCUS} Merriwell`, 215, /^(?:ajv|undici|re2js)$|^dist\/sandbox\/|mcp/],
  ["suite list --help", 220, /better-sqlite3|^dist\/sandbox\//],
])("art-e %s loads at most %i modules, and none that it does not need", (line, most, needless) => {
  const loaded = loadedBy(line);
  expect(loaded.filter((name) => needless.test(name))).toEqual([]);
  expect(loaded.length).toBeLessThanOrEqual(most);
});
