import { readFileSync } from "node:fs";
import { join } from "node:path";

export const NOTICES = join(import.meta.dirname, "../../THIRD_PARTY_NOTICES.md");

/** What precedes the list of packages is written by hand. */
export const PACKAGES_HEADING = "## Packages\n";

/** THIRD_PARTY_NOTICES.md with its list of packages as package-lock.json has them now. */
export function noticesWithPackages(): string {
  const lock = JSON.parse(readFileSync(join(import.meta.dirname, "../../package-lock.json"), "utf8"));
  const { dependencies = {}, optionalDependencies = {} } = lock.packages[""];
  const names = Object.keys({ ...dependencies, ...optionalDependencies }).sort();
  const rows = names.map((name) => `- ${name}: ${lock.packages[`node_modules/${name}`].license}`);
  const page = readFileSync(NOTICES, "utf8");
  const byHand = page.slice(0, page.indexOf(PACKAGES_HEADING) + PACKAGES_HEADING.length);
  return `${byHand}\nInstalled by npm beside art-e, each with its license in its folder; they bring others, which \`npm ls --all\` lists.\n\n${rows.join("\n")}\n`;
}
