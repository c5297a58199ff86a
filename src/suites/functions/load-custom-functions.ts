// Loads the module with the user's suite functions. It runs with this program's rights.
import { resolve } from "node:path";
import { messageOf, UserError } from "../../platform/errors.js";
import { statOf } from "../../platform/file-stats.js";
import { hasSetupFunction } from "../task/task-setup.js";
import { type CustomFunction, type CustomFunctions, NO_CUSTOM_FUNCTIONS } from "./custom-functions.js";
import { isImplemented } from "./function-table.js";

const DIALECTS = ["flowbook", "spider2v"] as const;

/** Exports of a module, each with a function that returns whether a built-in function has that name. */
const KINDS: Readonly<Record<keyof CustomFunctions, (name: string) => boolean>> = {
  setUp: (name) => DIALECTS.some((dialect) => hasSetupFunction(dialect, name)),
  evaluation: (name) => DIALECTS.some((dialect) => isImplemented(dialect, "evaluation", name)),
  getters: (name) => isImplemented("spider2v", "getter", name),
};

const SHAPE = `Export ${Object.keys(KINDS).join(", ")}: objects of functions by name, see docs/write-a-suite.md.`;

/**
 * Loads the user's module, if any, which runs with this program's rights. Only the module in `--functions` is loaded.
 */
export async function customFunctions(module: string | undefined): Promise<CustomFunctions> {
  if (module === undefined) return NO_CUSTOM_FUNCTIONS;
  const path = resolve(module);
  if (!statOf(path)?.isFile()) throw invalid(path, "the file does not exist");
  if (!/\.[cm]?[jt]s$/.test(path)) throw invalid(path, "it is not a JavaScript or TypeScript module (.js, .mjs, .ts)");
  let loaded: unknown;
  try {
    const { createJiti } = await import("jiti");
    loaded = await createJiti(path, { fsCache: false, moduleCache: false, interopDefault: true }).import(path);
  } catch (error) {
    throw invalid(path, `cannot load it: ${messageOf(error)}`);
  }
  const exported = withDefault(loaded);
  const byKind = {
    setUp: functionsOf("setUp", exported, path),
    evaluation: functionsOf("evaluation", exported, path),
    getters: functionsOf("getters", exported, path),
  };
  if (Object.values(byKind).every((functions) => functions.size === 0)) throw invalid(path, "it exports no functions");
  return byKind;
}

function withDefault(loaded: unknown): Readonly<Record<string, unknown>> {
  const module = Object(loaded) as Record<string, unknown>;
  return Object.keys(KINDS).some((kind) => kind in module) ? module : (Object(module.default) as typeof module);
}

function functionsOf(
  kind: keyof CustomFunctions,
  module: Readonly<Record<string, unknown>>,
  path: string,
): ReadonlyMap<string, CustomFunction> {
  const exported = module[kind] ?? {};
  if (typeof exported !== "object" || Array.isArray(exported)) throw invalid(path, `its ${kind} is not an object`);
  const functions = new Map<string, CustomFunction>();
  for (const [name, value] of Object.entries(exported)) {
    if (typeof value !== "function") throw invalid(path, `its ${kind}.${name} is not a function`);
    if (KINDS[kind](name)) throw invalid(path, `its ${kind}.${name} has the name of a built-in function`);
    functions.set(name, value as CustomFunction);
  }
  return functions;
}

function invalid(path: string, what: string): UserError {
  return new UserError("functions_invalid", `--functions ${path}: ${what}.`, SHAPE);
}
