import { UserError } from "../../domain/errors.js";
import { flagName } from "../../platform/flag-name.js";
import type { ConfiguredFlags } from "./read-config.js";

/** An error about flags that were not typed, with where in the file they stand; any other error unchanged. */
export function explainConfigured(error: unknown, { path, used }: ConfiguredFlags): unknown {
  if (!(error instanceof UserError)) return error;
  const meant = used.filter(({ flag }) => new RegExp(`${flagName(flag)}(?![\\w-])`).test(error.message));
  if (meant.length === 0) return error;
  const origins = meant.map(({ flag, name, line }) => `${flagName(flag)} is ${name} at ${path}:${line}.`).join(" ");
  return new UserError(error.code, error.message, `${error.hint} ${origins}`, error.exitCode, { cause: error });
}
