import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { BIN, MARCUS, QUESTIONS } from "./art-e.js";

/** Counts the modules that a command loads at startup, instead of measuring the time. */

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

/** The modules that a command line loads: package names, and files of `src/` according to the source maps. */
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
  return urls.flatMap((url) => (url.includes("/dist/") ? sourcesOf(fileURLToPath(url)) : [url])).map(moduleName);
}

function sourcesOf(builtFile: string): string[] {
  return existsSync(`${builtFile}.map`) ? JSON.parse(readFileSync(`${builtFile}.map`, "utf8")).sources : [];
}

function moduleName(path: string): string {
  const found = /.*\/(?:node_modules\/((?:@[^/]+\/)?[^/]+)|(src\/.+))/.exec(path);
  return found?.[1] ?? found?.[2] ?? path;
}

it.each([
  ["--version", 3, /yargs|zod|cli\.ts/],
  ["--help", 130, /^zod$|better-sqlite3|^src\/(?:runs|results|traces|models)\//],
  [
    "run --help",
    290,
    /better-sqlite3|^src\/(?:questions\/(?!published-dataset)|traces\/(?:runs|traces|results)-store)/,
  ],
  [
    "score --help",
    250,
    /better-sqlite3|genai-prices|^src\/(?:sandbox|mail|evals\/(?:store|labels|run-evals|test-eval|generate))/,
  ],
  ["serve --help", 230, /better-sqlite3|^hono$|protobufjs|^src\/(?:agents|mail)\//],
  ["ask --help", 260, /better-sqlite3|protobufjs|^src\/(?:sandbox|tools|mail)\//],
  ["mcp --help", 210, /@modelcontextprotocol|^src\/(?:tools|mail)\//],
  ["report --help", 220, /better-sqlite3|^src\/(?:sandbox|mail|evals\/(?:store|labels|run-evals|test-eval|generate))/],
  ["export-results --help", 200, /better-sqlite3|genai-prices|hyparquet|^src\/(?:sandbox|evals|mail|runs|results)\//],
  ["doctor --help", 210, /better-sqlite3|^src\/(?:sandbox|mail)\//],
  ["runs list --help", 230, /better-sqlite3|^src\/(?:runs|results|analysis)\//],
  ["agents list --help", 220, /better-sqlite3|^src\/(?:sandbox|tools)\//],
  ["agents list", 220, /^src\/(?:sandbox|mail|tools\/(?!tools-store\.ts))/],
  [`search ${MARCUS} Merriwell`, 215, /^(?:ajv|undici|re2js)$|^src\/sandbox\/|mcp/],
  [
    `run -a baseline --dataset ${QUESTIONS} -l 1`,
    570,
    /^undici$|genai-prices|dockerfile-ast|smol-toml|openai|anthropic/,
  ],
  ["suite list --help", 220, /better-sqlite3|^src\/sandbox\//],
])("art-e %s loads at most %i modules, and no unneeded ones", (line, most, needless) => {
  const loaded = loadedBy(line);
  expect(loaded.filter((name) => needless.test(name))).toEqual([]);
  expect(loaded.length).toBeLessThanOrEqual(most);
});
