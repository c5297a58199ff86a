import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cliFiles } from "./cli-files.js";
import { MARKER } from "./cli-page.js";
import { OUTPUTS, outputSchemas } from "./json-outputs.js";
import { MODELS_PAGE, modelsPage } from "./model-tables.js";
import { NOTICES, noticesWithPackages } from "./notices.js";
import { LLMS, llmsText, SKILL, skillPage } from "./skill.js";

/**
 * `npm run docs`: writes the generated parts of docs/cli, docs/models.md, SKILL.md, llms.txt,
 * the notices and the schemas of JSON outputs, and keeps the rest.
 */

for (const [path, generated] of await cliFiles()) {
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  const at = before.indexOf(MARKER);
  const byHand = at === -1 ? "" : before.slice(at + MARKER.length + 1);
  if (before !== generated + byHand) writeFileSync(path, generated + byHand);
}

writeFileSync(SKILL, skillPage());
writeFileSync(LLMS, llmsText());
writeFileSync(MODELS_PAGE, modelsPage());
writeFileSync(NOTICES, noticesWithPackages());
writeFileSync(OUTPUTS, outputSchemas());
