import { z } from "zod";
import type { JsonObject } from "../../domain/json.js";

/** A function's arguments as the origin would take them: a missing one is an error. */
export function parseArguments<T>(schema: z.ZodType<T>, args: JsonObject): T {
  const parsed = schema.safeParse(args);
  if (parsed.success) return parsed.data;
  throw new Error(`its arguments are wrong: ${z.prettifyError(parsed.error).replaceAll("\n", " ")}`);
}
