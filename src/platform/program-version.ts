import { readFileSync } from "node:fs";

/** The version in this program's package.json. Loads nothing else: `--version` is asked for by scripts. */
export function programVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
