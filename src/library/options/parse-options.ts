// Checks the options that a program passes to the library, because JavaScript does not.
import type { z } from "zod";
import { traitsOf } from "../../platform/flag-values.js";
import type { LibraryOptions } from "../options.js";
import { invalidOption } from "./context.js";

/** Options after the checks of the flags with the same names. */
interface ParsedOptions<T> {
  readonly parsed: T;
  /** Names of the options that are not undefined. */
  readonly explicitNames: ReadonlySet<string>;
}

/** Checks options with the schema of the flags. Throws a UserError for the first unknown or invalid option. */
export function parseOptions<T extends z.ZodObject>(options: object, schema: T): ParsedOptions<z.output<T>> {
  if (typeof options !== "object" || options === null) throw invalidOption("options", "expected an object");
  const explicit = Object.entries(options).filter(([, value]) => value !== undefined);
  const result = schema.safeParse(
    Object.fromEntries(explicit.map(([name, value]) => [name, asFlag(schema, name, value)])),
  );
  if (result.success) return { parsed: result.data, explicitNames: new Set(explicit.map(([name]) => name)) };
  const [issue] = result.error.issues;
  throw invalidOption(String(issue?.path[0] ?? "options"), issue?.message ?? "cannot be used");
}

/** Converts a value as in the config file, such as a list, to the value of the flag. */
function asFlag({ shape }: z.ZodObject, name: string, value: unknown): unknown {
  if (!Object.hasOwn(shape, name)) throw invalidOption(name, "unknown option");
  const { inConfig } = traitsOf(shape[name] as z.ZodType);
  if (inConfig === undefined) return value;
  const parsed = inConfig.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidOption(name, parsed.error.issues[0]?.message ?? "cannot be used");
}

/** Returns the options of one function, without those of every function. */
export function ownOptions<T extends LibraryOptions & { readonly onProgress?: unknown }>(options: T) {
  const { db: _, cacheDir, env, signal, onNote, onProgress, ...own } = options;
  return own;
}
