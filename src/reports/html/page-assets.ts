import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** What every report's page is made of besides its data. */
export interface PageAssets {
  readonly style: string;
  /** In the order they are to run. */
  readonly scripts: readonly string[];
}

/** Later ones go over earlier ones. */
const STYLES = ["page", "figures", "tasks", "task", "media"];

/** The libraries' own builds, as their licences ask with the notice at their head, and the page's style and script. */
export function readPageAssets(): PageAssets {
  const require = createRequire(import.meta.url);
  const plot = require.resolve("@observablehq/plot");
  const d3 = createRequire(plot).resolve("d3");
  const read = (path: string | URL) => readFileSync(path, "utf8");
  // From src/ too, the script is the compiled one.
  const script = read(new URL("../../../dist/reports/page.js", import.meta.url));
  const scripts = [
    read(join(dirname(d3), "../dist/d3.min.js")),
    read(join(dirname(plot), "../dist/plot.umd.min.js")),
    `${MODULES}${script}`,
  ];
  return {
    style: STYLES.map((name) => read(new URL(`../page/style/${name}.css`, import.meta.url))).join("\n"),
    scripts: scripts.map(insideScript),
  };
}

/** The page's own modules are compiled into one file, each a call of this, in the order they need one another. */
const MODULES = `"use strict";
const loaded = {};
function define(name, needs, make) {
  const exports = (loaded[name] = {});
  make(...needs.map((need) => (need === "exports" ? exports : loaded[need])));
}
`;

/** No text of a script may end the element it stands in, or open a comment. */
function insideScript(text: string): string {
  return text.replace(/<(?=\/script|script|!--)/gi, "\\x3c").replace(/\n\/\/# sourceMappingURL=.*/g, "");
}

/** Names a script in a content security policy: this one may run, and no other. */
export function policyHash(script: string): string {
  return `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
}
