// What dist/ needs beside compiled code: files of src/ that are read as they are, and the builds of the libraries that
// the report's page holds, each with its licence notice at its head.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

cpSync("src", "dist", { recursive: true, filter: (path) => !/(\.tsx?|tsconfig\.json)$/.test(path) });

const require = createRequire(import.meta.url);
const plot = require.resolve("@observablehq/plot");
const d3 = createRequire(plot).resolve("d3");
const diff = dirname(require.resolve("diff/package.json"));
const read = (...path) => readFileSync(join(...path), "utf8");
const LIBRARIES = {
  d3: read(dirname(d3), "../dist/d3.min.js"),
  plot: read(dirname(plot), "../dist/plot.umd.min.js"),
  // Its build has no notice of its own.
  diff: `/*!\n${read(diff, "LICENSE")}*/\n${read(diff, "dist/diff.min.js")}`,
};
mkdirSync("dist/web/libraries", { recursive: true });
for (const [name, script] of Object.entries(LIBRARIES)) writeFileSync(`dist/web/libraries/${name}.js`, script);
