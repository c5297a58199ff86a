// Builds dist/: the program, the scripts of its two pages, the files of src/ that are read as they are, and the notices
// and the bill of materials of the packages that are built in.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { sbomOf } from "./sbom.js";

const require = createRequire(import.meta.url);
const readText = (...path) => readFileSync(join(...path), "utf8");

/** What the program starts by the name of its file: itself, threads, and child processes. */
const ENTRIES = [
  "cli",
  "mail/import/reader-thread",
  "mail/mime/mime-thread",
  "mail/import/copy-mail-thread",
  "server/run-page/run-page-thread",
  "suites/grading/grading-process",
  "tools/search-pool/search-thread",
  "traces/result-writer/result-writer-thread",
];

/** Packages that stay outside of the bundle, and why. A fix of any other package needs a release of art-e. */
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
};

checkOutside(JSON.parse(readText("package.json")));
rmSync("dist", { recursive: true, force: true });
const packages = await buildProgram();
for (const page of ["report", "playground"]) await buildPage(page);
cpSync("src", "dist", { recursive: true, filter: (path) => !/(\.tsx?|tsconfig\.json)$/.test(path) });
const copied = copyLibrariesOfReport();
writeFileSync("dist/THIRD_PARTY_LICENSES.txt", licensesOf(packages));
writeFileSync("dist/sbom.cdx.json", sbomOf(packages, copied));

/** npm installs what package.json names: exactly the packages that the bundle leaves outside. */
function checkOutside({ dependencies, peerDependencies }) {
  const named = Object.keys({ ...dependencies, ...peerDependencies })
    .sort()
    .join(", ");
  const outside = Object.keys(OUTSIDE).sort().join(", ");
  if (named !== outside) throw new Error(`package.json names ${named}; build.js leaves outside ${outside}.`);
}

/**
 * Few files instead of a thousand: reading and compiling them is most of a start. All packages but those of `OUTSIDE`
 * are built in. Returns their folders.
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
    // For tests and profilers in a checkout. The package leaves the maps out, so no file refers to its map.
    sourcemap: "hidden",
  });
  await bundle.close();
  const files = new Set(output.map(({ fileName }) => fileName));
  const imported = output.flatMap(({ imports = [], dynamicImports = [] }) => [...imports, ...dynamicImports]);
  const missing = imported.find((id) => !files.has(id) && !isOutside(id) && !isBuiltinOfNode(id));
  if (missing !== undefined)
    throw new Error(`The bundle imports ${missing}, which is neither built in nor in OUTSIDE.`);
  return packageFolders(output);
}

function isBuiltinOfNode(id) {
  return id.startsWith("node:") || builtinModules.includes(id);
}

/**
 * A page's script: one file without imports, put into a report or served by `art-e serve`. Lower modules export
 * constants and functions next to zod schemas. The schemas are dropped: a page that needs one would contain all of zod,
 * so that fails the build.
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
    throw new Error(`${page}.js would hold ${library}: import its caller's file no more, or split it.`);
  }
}

/** The folders below node_modules/ whose code is in these files. */
function packageFolders(output) {
  const ids = output.flatMap(({ modules = {} }) => Object.keys(modules).filter((id) => modules[id].renderedLength > 0));
  const folders = ids.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll("\\", "/")) ?? []);
  return [...new Set(folders)].sort();
}

/** Copies builds of libraries that the report's page contains, each with its license at its head. Returns their folders. */
function copyLibrariesOfReport() {
  const plot = require.resolve("@observablehq/plot");
  const d3 = createRequire(plot).resolve("d3");
  const diff = dirname(require.resolve("diff/package.json"));
  const libraries = {
    d3: readText(dirname(d3), "../dist/d3.min.js"),
    plot: readText(dirname(plot), "../dist/plot.umd.min.js"),
    // Its build has no notice of its own.
    diff: `/*!\n${readText(diff, "LICENSE")}*/\n${readText(diff, "dist/diff.min.js")}`,
  };
  mkdirSync("dist/web/libraries", { recursive: true });
  for (const [name, script] of Object.entries(libraries)) writeFileSync(`dist/web/libraries/${name}.js`, script);
  return [join(dirname(plot), ".."), join(dirname(d3), ".."), diff];
}

/** Names, versions and licences, as these ask of who passes the code on. */
function licensesOf(folders) {
  const parts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readText(folder, "package.json"));
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
    const texts = files.map((file) => readText(folder, file).trim());
    return [`${name} ${version} (${license})`, ...texts].join("\n\n");
  });
  return `Packages that are built into this program.\n\n${parts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}
