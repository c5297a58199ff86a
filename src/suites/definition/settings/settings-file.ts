import { lstatSync, readFileSync } from "node:fs";
import type { JsonValue } from "../../../domain/json.js";
import { isShallow } from "../../../domain/json-depth.js";
import { stripJsonComments } from "./strip-json-comments.js";

const MAX_BYTES = 1_000_000;

export const TEMPLATE_ENDING = ".template";

/** How far account settings are filled in. */
export type SettingsState =
  | { readonly state: "filled" | "missing" | "template_only" | "unreadable" }
  | { readonly state: "placeholders"; readonly fields: readonly string[] };

/** Looks at a settings file and the template beside it. Values are compared, never shown. */
export function readSettingsState(path: string): SettingsState {
  if (!isFile(path)) return { state: isFile(path + TEMPLATE_ENDING) ? "template_only" : "missing" };
  if (!path.endsWith(".json")) return { state: "filled" };
  const settings = readSettings(path);
  if (settings === undefined) return { state: "unreadable" };
  const fields = findPlaceholders(settings);
  return fields.length === 0 ? { state: "filled" } : { state: "placeholders", fields };
}

/** JSON with // comments; undefined where it is none. */
export function readSettings(path: string): JsonValue | undefined {
  if (lstatSync(path).size > MAX_BYTES) return undefined;
  try {
    const settings: JsonValue = JSON.parse(stripJsonComments(readFileSync(path, "utf8")));
    return isShallow(settings) ? settings : undefined;
  } catch {
    return undefined;
  }
}

/** Fields whose value is what a template has: `xxxx`, `your_password`, `USER_NAME`, `{project_id}`, or nothing. */
export function findPlaceholders(value: JsonValue, field = ""): string[] {
  if (typeof value === "string") return PLACEHOLDER.test(value) ? [field] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    findPlaceholders(
      item as JsonValue,
      Array.isArray(value) ? `${field}[${name}]` : `${field === "" ? "" : `${field}.`}${name}`,
    ),
  );
}

const PLACEHOLDER = /^\s*$|x{4}|\byour_|^USER_NAME$|^YOUR_|\{\w+\}|<\w+>/;

export function isFile(path: string): boolean {
  try {
    return lstatSync(path).isFile();
  } catch {
    return false;
  }
}
