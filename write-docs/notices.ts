import { readFileSync } from "node:fs";
import { join } from "node:path";

export const NOTICES = join(import.meta.dirname, "../THIRD_PARTY_NOTICES.md");

/** The build writes this file. */
const LICENSES = join(import.meta.dirname, "../dist/THIRD_PARTY_LICENSES.txt");

/** The text before the list of packages is written by hand. */
const PACKAGES_HEADING = "## Packages\n";

/** THIRD_PARTY_NOTICES.md with its lists of packages from the build and package-lock.json. */
export function noticesWithPackages(): string {
  const lock = JSON.parse(readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8"));
  const { dependencies, optionalDependencies } = lock.packages[""];
  const installed = Object.keys({ ...dependencies, ...optionalDependencies }).map(
    (name) => [name, lock.packages[`node_modules/${name}`].license] as const,
  );
  const builtIn = [...readFileSync(LICENSES, "utf8").matchAll(/^(\S+) \d+\.\d+\.\d+\S* \((.+)\)$/gm)].map(
    ([, name = "", license = ""]) => [name, license] as const,
  );
  const list = (packages: readonly (readonly [name: string, license: string])[]) =>
    [...new Set(packages.map(([name, license]) => `- ${name}: ${license}`))].sort().join("\n");
  const page = readFileSync(NOTICES, "utf8");
  const byHand = page.slice(0, page.indexOf(PACKAGES_HEADING) + PACKAGES_HEADING.length);
  return `${byHand}
Built into art-e, each with its license's text in \`dist/THIRD_PARTY_LICENSES.txt\`:

${list(builtIn)}

Installed by npm beside art-e, each with its license in its folder; they bring others, which \`npm ls --all\` lists:

${list(installed)}
`;
}
