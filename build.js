// Builds dist/: the program, the scripts of its two pages, copies of other files in src/, and the license notices and the
// bill of materials for the bundled packages.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import { dirname, join, normalize } from "node:path";
import { createJiti } from "jiti";
import { rolldown } from "rolldown";
import { isolatedDeclaration } from "rolldown/experimental";
import { sbomOf } from "./sbom.js";

const require = createRequire(import.meta.url);
const { libraryTypes } = await createJiti(import.meta.url).import("./library-types.ts");
const readText = (...path) => readFileSync(join(...path), "utf8");

/** Files that are started by path: the program, its threads and its child processes. */
const ENTRIES = [
  "cli",
  "library",
  "library/define",
  "library/evals",
  "library/vitest",
  "mail/import/reader-thread",
  "mail/mime/mime-thread",
  "mail/import/corpus-copy-thread",
  "results/runs-over-mcp/query-process",
  "server/eval-jobs/eval-job-thread",
  "server/lists/list-thread",
  "server/run-page/run-page-thread",
  "suites/grading/grading-process",
  "tools/search-pool/search-thread",
  "traces/result-writer/result-writer-thread",
];

/** Packages excluded from the bundle, with the reason. Fixes to other packages reach users with art-e's next release. */
const OUTSIDE = {
  "@anthropic-ai/sdk": "large, loaded with its first model",
  "@duckdb/node-api": "optional peer: native code for twelve suite tasks",
  "@google/generative-ai": "loaded with its first model",
  "better-sqlite3": "native code",
  bullmq: "optional peer of queues",
  "cli-progress": "loaded with the first progress bar",
  "csv-parse": "loaded with the first CSV dataset",
  ioredis: "optional peer of queues",
  jiti: "loads modules of users",
  openai: "large, loaded with its first model",
  "p-limit": "loaded by the modules of judges and evals",
  "rate-limiter-flexible": "optional peer of queues",
  vitest: "optional peer of art-e/vitest",
};

checkOutside(JSON.parse(readText("package.json")));
rmSync("dist", { recursive: true, force: true });
const packages = await buildProgram();
for (const file of ["library.ts", "library/evals.ts", "library/vitest.ts"]) await writeDeclarations(file);
for (const page of ["report", "app"]) await buildPage(page);
cpSync("src", "dist", { recursive: true, filter: (path) => !/(\.tsx?|tsconfig\.json)$/.test(path) });
const copied = copyLibrariesOfReport();
writeFileSync("dist/THIRD_PARTY_LICENSES.txt", licensesOf(packages));
writeFileSync("dist/sbom.cdx.json", sbomOf(packages, copied));

/** Checks that npm installs exactly the packages excluded from the bundle. */
function checkOutside({ dependencies, peerDependencies }) {
  const named = Object.keys({ ...dependencies, ...peerDependencies })
    .sort()
    .join(", ");
  const outside = Object.keys(OUTSIDE).sort().join(", ");
  if (named !== outside) throw new Error(`package.json lists ${named}, but build.js excludes ${outside}.`);
}

/**
 * Bundles a thousand files into a few, because reading and compiling them dominates the startup time. Includes all
 * packages except those in `OUTSIDE`. Returns the folders of the bundled packages.
 */
async function buildProgram() {
  const isOutside = (id) => Object.keys(OUTSIDE).some((name) => id === name || id.startsWith(`${name}/`));
  const bundle = await rolldown({
    input: Object.fromEntries(ENTRIES.map((name) => [name, `src/${name}.ts`])),
    external: isOutside,
    platform: "node",
    transform: { target: "node20.19" },
    logLevel: "warn",
  });
  const { output } = await bundle.write({
    dir: "dist",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    keepNames: true,
    // For tests and profilers in a checkout. The published package has no maps, so files must not refer to them.
    sourcemap: "hidden",
  });
  await bundle.close();
  const files = new Set(output.map(({ fileName }) => fileName));
  const imported = output.flatMap(({ imports = [], dynamicImports = [] }) => [...imports, ...dynamicImports]);
  const missing = imported.find((id) => !files.has(id) && !isOutside(id) && !isBuiltinOfNode(id));
  if (missing !== undefined) throw new Error(`The bundle imports ${missing}, which is neither bundled nor in OUTSIDE.`);
  return packageFolders(output);
}

function isBuiltinOfNode(id) {
  return id.startsWith("node:") || builtinModules.includes(id);
}

/**
 * Writes the type declarations of a file in src/ and of the files whose types it exports. They need their own explicit
 * types, and no types of packages, because users do not have the packages.
 */
async function writeDeclarations(file, done = new Set()) {
  if (done.has(file)) return;
  done.add(file);
  const isGenerated = file === "library/published-types.ts";
  const { code, errors } = isGenerated
    ? { code: await libraryTypes(), errors: [] }
    : await isolatedDeclaration(file, readText("src", file));
  if (errors.length > 0) throw new Error(`src/${file} needs explicit types: ${errors.map(({ message }) => message)}`);
  const path = join("dist", file.replace(/\.ts$/, ".d.ts"));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, code);
  for (const [, imported] of code.matchAll(/\bfrom "([^"]+)"/g)) {
    if (!imported.startsWith("."))
      throw new Error(`The types of src/${file} need ${imported}, which users do not have.`);
    await writeDeclarations(normalize(join(dirname(file), imported.replace(/\.js$/, ".ts"))), done);
  }
}

/**
 * Bundles a page's script into one file without imports, which is embedded in reports or served by `art-e serve`. Lower
 * modules export constants and functions next to zod schemas. The schemas are dropped. The build fails if a page needs
 * one, because it would then contain all of zod.
 */
async function buildPage(page) {
  const bundle = await rolldown({
    input: `src/web/${page}/main.ts`,
    treeshake: { moduleSideEffects: false, manualPureFunctions: ["z"] },
    platform: "node",
    logLevel: "warn",
  });
  const { output } = await bundle.write({ file: `dist/web/${page}.js`, format: "iife", strict: true });
  await bundle.close();
  const [library] = packageFolders(output);
  if (library !== undefined) {
    throw new Error(`${page}.js would contain ${library}: split the file that imports it, or do not import that file.`);
  }
}

/** Returns the folders in node_modules/ with code in these files. */
function packageFolders(output) {
  const ids = output.flatMap(({ modules = {} }) => Object.keys(modules).filter((id) => modules[id].renderedLength > 0));
  const folders = ids.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll("\\", "/")) ?? []);
  return [...new Set(folders)].sort();
}

/** Copies the libraries embedded in the report's page, each preceded by its license. Returns their folders. */
function copyLibrariesOfReport() {
  const plot = require.resolve("@observablehq/plot");
  const d3 = createRequire(plot).resolve("d3");
  const diff = dirname(require.resolve("diff/package.json"));
  const libraries = {
    d3: readText(dirname(d3), "../dist/d3.min.js"),
    plot: readText(dirname(plot), "../dist/plot.umd.min.js"),
    // The build does not include its license.
    diff: `/*!\n${readText(diff, "LICENSE")}*/\n${readText(diff, "dist/diff.min.js")}`,
  };
  mkdirSync("dist/web/libraries", { recursive: true });
  for (const [name, script] of Object.entries(libraries)) writeFileSync(`dist/web/libraries/${name}.js`, script);
  return [join(dirname(plot), ".."), join(dirname(d3), ".."), diff];
}

/** Returns names, versions and license texts, which the licenses require when the code is redistributed. */
function licensesOf(folders) {
  const parts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readText(folder, "package.json"));
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
    const texts = files.map((file) => readText(folder, file).trim());
    return [`${name} ${version} (${license})`, ...texts].join("\n\n");
  });
  return `Packages bundled with this program.\n\n${parts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}
