import { chatTraceSchema } from "../domain/runs/chat.js";
import { suiteTraceSchema, traceSchema } from "../domain/runs/trace.js";
import type { ImportedTrace } from "./imported-trace.js";
import { checkValue } from "./parse-line.js";

/** A trace by the names of our own fields, of a task or of a chat. Throws a UserError that names what is wrong. */
export function parseTrace(value: unknown, where: string): ImportedTrace {
  return inOrderOf(value, checkValue(schemaOf(value), value, where)) as ImportedTrace;
}

function schemaOf(value: unknown) {
  const has = (key: string) => typeof value === "object" && value !== null && key in value;
  if (!has("task") && has("question")) return chatTraceSchema;
  return has("grade") ? suiteTraceSchema : traceSchema;
}

/** The checked value with its keys as the file has them, so that it is written as it was read. */
function inOrderOf(given: unknown, checked: unknown): unknown {
  if (Array.isArray(checked)) return checked.map((item, i) => inOrderOf((given as unknown[])[i], item));
  if (typeof checked !== "object" || checked === null) return checked;
  const known = new Map(Object.entries(checked));
  const keys = new Set([...Object.keys(given as object).filter((key) => known.has(key)), ...known.keys()]);
  return Object.fromEntries(
    [...keys].map((key) => [key, inOrderOf((given as Record<string, unknown>)[key], known.get(key))]),
  );
}
