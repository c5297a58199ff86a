// Packages that are installed only on demand, and the error that names the command to install one.
import { EXIT, UserError } from "./errors.js";
import { readManifest } from "./program-files.js";

/** Features with optional peer dependencies, which npm installs only on request. */
const NEEDED_FOR: readonly (readonly [need: string, packages: readonly string[]])[] = [
  ["A queue requires", ["bullmq", "ioredis", "rate-limiter-flexible"]],
  ["Comparing DuckDB files requires", ["@duckdb/node-api"]],
];

/** Returns the error for a missing optional package, with the command that installs it, or null for any other error. */
export function missingPackage(error: unknown): UserError | null {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_MODULE_NOT_FOUND") return null;
  const missing = /Cannot find package '([^']+)'/.exec(error.message)?.[1] ?? "";
  const need = NEEDED_FOR.find(([, packages]) => packages.includes(missing));
  if (need === undefined) return null;
  const [words, packages] = need;
  const { peerDependencies: ranges } = readManifest();
  const line = ["npm install", ...packages.map((name) => `${name}@${ranges[name]}`)].join(" ");
  return new UserError(
    "package_missing",
    `${words} ${packages.join(", ")} (not installed with art-e).`,
    `Install it next to art-e (with -g if art-e was installed with -g): ${line}`,
    EXIT.usage,
    { cause: error },
  );
}
