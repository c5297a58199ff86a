// The context of a call: checked common options, environment and signal in place of a terminal.
import { setMaxListeners } from "node:events";
import { type AppContext, DEFAULT_CACHE_DIR, DEFAULT_DB } from "../../platform/app-context.js";
import { UserError } from "../../platform/errors.js";
import type { LibraryOptions } from "../options.js";

const isText = (value: unknown) => typeof value === "string";
const isFunction = (value: unknown) => typeof value === "function";

/** The options of every function, and `onProgress`. The caller's TypeScript might not be checked. */
const CHECKS: Readonly<Record<string, readonly [isValid: (value: unknown) => boolean, expected: string]>> = {
  db: [isText, "a path"],
  cacheDir: [isText, "a path"],
  env: [(value) => typeof value === "object" && value !== null, "an object of variables"],
  signal: [(value) => value instanceof AbortSignal, "an AbortSignal"],
  onNote: [isFunction, "a function"],
  onProgress: [isFunction, "a function"],
};

export function invalidOption(option: string, message: string): UserError {
  return new UserError("option_invalid", `${option}: ${message}.`, "See docs/library.md.");
}

/** Returns an argument that must be a string. Throws a UserError if it is not. */
export function textArgument(name: string, value: unknown): string {
  if (typeof value !== "string") throw invalidOption(name, "expected a string");
  return value;
}

/**
 * Returns the context for a call of the library. Aborting its signal stops running work immediately. Throws a UserError
 * for an option of another type.
 */
export function contextOf(options: LibraryOptions): AppContext {
  if (typeof options !== "object" || options === null) throw invalidOption("options", "expected an object");
  for (const [name, [isValid, expected]] of Object.entries(CHECKS)) {
    const value = (options as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined && !isValid(value)) throw invalidOption(name, `expected ${expected}`);
  }
  const { db, cacheDir, env = process.env, signal, onNote } = options;
  // A separate signal, because many calls can share the caller's, which warns about more than ten listeners.
  const stop = AbortSignal.any(signal === undefined ? [] : [signal]);
  setMaxListeners(0, stop);
  return {
    settings: {
      db: db ?? (env.ART_E_DB || DEFAULT_DB),
      cacheDir: cacheDir ?? (env.ART_E_CACHE_DIR || DEFAULT_CACHE_DIR),
      agentStderr: null,
      env,
    },
    note: (text) => onNote?.(text),
    progress: () => ({ update() {}, stop() {} }),
    signal: stop,
    untilSecond: () => stop,
  };
}
