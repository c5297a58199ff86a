import type { z } from "zod";
import { UserError } from "../domain/errors.js";
import { jsonDepth, MAX_JSON_DEPTH } from "../domain/json-depth.js";

/** JSON in a text may stand within JSON in a text. */
const MAX_DEPTH = MAX_JSON_DEPTH + 20;

/** A line's JSON. Throws a UserError that says what is wrong with it. */
export function parseLine(text: string, where: string): unknown {
  if (jsonDepth(text) > MAX_DEPTH) throw notUsable(where, `is nested more than ${MAX_DEPTH} levels deep`);
  try {
    return JSON.parse(text);
  } catch {
    throw notUsable(where, "is not JSON");
  }
}

/** Checks a value against a schema. Throws a UserError that names the first field that is wrong. */
export function checkValue<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "";
  throw notUsable(where, `${field === "" ? "" : `${field}: `}${issue?.message ?? "cannot be used"}`);
}

export function notUsable(where: string, problem: string): UserError {
  return new UserError(
    "import_invalid",
    `${where}: ${problem}.`,
    "Read are art-e's JSON lines, OTLP JSON lines, Inspect logs (.eval, .json) and ATIF trajectories. Nothing was imported.",
  );
}
