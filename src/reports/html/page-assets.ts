import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { readPageScript } from "./page-script.js";

/** What a report's page is made of besides its data. */
export interface PageAssets {
  readonly style: string;
  /** In the order they are to run. */
  readonly scripts: readonly string[];
}

/** In the order of the cascade. */
const STYLES = [
  "shared/theme",
  "style/page",
  "style/figures",
  "style/tasks",
  "style/task",
  "style/suite",
  "style/comparison",
  "style/timeline",
  "style/media",
];

/** The page's style and script, and the libraries' builds with the licence notices at their heads. */
export function readPageAssets(): PageAssets {
  const require = createRequire(import.meta.url);
  const plot = require.resolve("@observablehq/plot");
  const d3 = createRequire(plot).resolve("d3");
  const read = (path: string | URL) => readFileSync(path, "utf8");
  const diff = dirname(require.resolve("diff/package.json"));
  const scripts = [
    read(join(dirname(d3), "../dist/d3.min.js")),
    read(join(dirname(plot), "../dist/plot.umd.min.js")),
    // Its build has no licence notice.
    `/*!\n${read(join(diff, "LICENSE"))}*/\n${read(join(diff, "dist/diff.min.js"))}`,
    readPageScript("reports/page.js"),
  ];
  return {
    style: STYLES.map((name) => read(new URL(`../page/${name}.css`, import.meta.url))).join("\n"),
    scripts: scripts.map(insideScript),
  };
}

/** Escapes what would end the script element or open a comment in it. */
function insideScript(text: string): string {
  return text.replace(/<(?=\/script|script|!--)/gi, "\\x3c").replace(/\n\/\/# sourceMappingURL=.*/g, "");
}

/** The hash that allows a script in a content security policy. */
export function policyHash(script: string): string {
  return `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
}
