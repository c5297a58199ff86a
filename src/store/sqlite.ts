// Loads the native code of better-sqlite3.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import type BetterSqlite3 from "better-sqlite3";
import { UserError } from "../platform/errors.js";
import { programFile } from "../platform/program-files.js";

/** Node releases by the NODE_MODULE_VERSION that addons are compiled for (abi_version_registry.json of Node). */
const NODE_OF_MODULE_VERSION: Readonly<Record<string, string>> = {
  115: "20",
  120: "21",
  127: "22",
  131: "23",
  137: "24",
  141: "25",
  147: "26",
};

const INSTALL_AGAIN = existsSync(programFile("package-lock.json")) ? "run npm ci again" : "install art-e again";

/**
 * SQLite in the version that npm chose for this Node: better-sqlite3 12 under Node 20, 13 from Node 22.14 on.
 * Importing this file throws a UserError if the native code does not fit this Node.
 */
export const Database = loadSqlite();

function loadSqlite(): typeof BetterSqlite3 {
  const require = createRequire(import.meta.url);
  try {
    const { version } = require("better-sqlite3/package.json") as { version: string };
    const installedUnder = nodeOfOtherInstallation(version);
    if (installedUnder !== null) throw installedUnderOtherNode(installedUnder);
    const loaded = require("better-sqlite3") as typeof BetterSqlite3;
    // Loads the native code, which better-sqlite3 postpones until a database is opened.
    new loaded(":memory:").close();
    return loaded;
  } catch (error) {
    throw error instanceof UserError ? error : explainLoadFailure(error as Error);
  }
}

/** The Node version that this version of better-sqlite3 is built for, or null if it runs under the current one. */
function nodeOfOtherInstallation(version: string): string | null {
  const isFor20 = Number.parseInt(version, 10) < 13;
  // Version 12 aborts under Node 24 when a statement is garbage collected (RemoveEnvironmentCleanupHook).
  if (isFor20 && Number.parseInt(process.versions.node, 10) >= 24) return "20";
  // Version 13 needs Node-API 10. Without it, the process ends with a segmentation fault or an unknown symbol.
  return !isFor20 && Number(process.versions.napi) < 10 ? "22 or newer" : null;
}

function explainLoadFailure(error: Error): UserError {
  const [, moduleVersion = ""] = /NODE_MODULE_VERSION (\d+)/.exec(error.message) ?? [];
  if (moduleVersion !== "") {
    return installedUnderOtherNode(NODE_OF_MODULE_VERSION[moduleVersion] ?? "another version", error);
  }
  const isNotCompiled = /could not locate the bindings file/i.test(error.message);
  const reason = isNotCompiled
    ? "the install script of better-sqlite3 did not run"
    : (error.message.split("\n")[0] ?? "").replace(/\.$/, "");
  const hint = isNotCompiled
    ? `Allow that script (npm install-scripts approve better-sqlite3, pnpm approve-builds) and ${INSTALL_AGAIN}.`
    : `${INSTALL_AGAIN.replace(/^./, (first) => first.toUpperCase())}.`;
  return new UserError("sqlite_unusable", `Cannot load SQLite: ${reason}.`, hint, undefined, { cause: error });
}

function installedUnderOtherNode(installedUnder: string, cause?: Error): UserError {
  const current = process.versions.node.split(".")[0];
  return new UserError(
    "sqlite_unusable",
    `art-e was installed under Node ${installedUnder}, but this is Node ${current}: ${INSTALL_AGAIN}.`,
    "SQLite's native code is installed for one version of Node.",
    undefined,
    { cause },
  );
}
