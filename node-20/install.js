// Installs SQLite for Node 20 in a checkout. The project's lockfile pins better-sqlite3 13, which brings prebuilt
// binaries but does not run under Node 20. A lockfile holds one version of a package, so this folder pins version 12.
// Delete this folder and its call in package.json when Node 20 is dropped.
import { execSync } from "node:child_process";
import { readFileSync, renameSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const installed = fileURLToPath(new URL("../node_modules/better-sqlite3", import.meta.url));

/** Settings of the outer npm that are about its own project. */
const PROJECT_SETTING =
  /^npm_(config_(omit|include|prefix|local_prefix|global|save.*|workspace.*)|package_.*|lifecycle_.*)$/i;

const versionOf = (name) => JSON.parse(readFileSync(`${name}/package.json`, "utf8")).version;

if (process.versions.node.startsWith("20.") && !versionOf(installed).startsWith("12.")) {
  console.log(
    "Installing SQLite for Node 20. Without a prebuilt binary it is compiled, which takes three to six minutes.",
  );
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !PROJECT_SETTING.test(name)));
  execSync("npm ci --no-audit --no-fund", { cwd: folder, env, stdio: "inherit" });
  rmSync(installed, { recursive: true });
  renameSync(`${folder}node_modules/better-sqlite3`, installed);
  renameSync(`${folder}node_modules`, `${installed}/node_modules`);
}
