import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cliFiles } from "./cli-files.js";
import { MARKER } from "./cli-page.js";
import { NOTICES, noticesWithPackages } from "./notices.js";

/** `npm run docs`: writes the generated part of docs/cli and of the notices, and keeps what is written by hand. */

for (const [path, generated] of await cliFiles()) {
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  const at = before.indexOf(MARKER);
  const byHand = at === -1 ? "" : before.slice(at + MARKER.length + 1);
  if (before !== generated + byHand) writeFileSync(path, generated + byHand);
}

writeFileSync(NOTICES, noticesWithPackages());
