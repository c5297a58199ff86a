import type { z } from "zod";
import { UserError } from "../../domain/errors.js";
import type { YamlDocument } from "../../platform/yaml-document.js";
import { unknownKeyError } from "./unknown-key.js";

interface Problem {
  readonly issue: z.core.$ZodIssue;
  readonly path: readonly PropertyKey[];
}

/** The error for the first thing in the file that is wrong, with its line. */
export function firstConfigError({ issues }: z.ZodError, document: YamlDocument, path: string): UserError {
  const found = issues.flatMap((issue) => problemsIn({ issue, path: issue.path }, document.value));
  const placed = found.map(({ issue, path: at }) => {
    const key = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
    return { issue, at, key, line: document.lineOf(at, key) };
  });
  const [first] = placed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  if (first === undefined) throw new Error("a schema refuses with an issue");
  const { issue, at, key, line } = first;
  if (key !== undefined) return unknownKeyError({ path, line, parents: at.map(String), key });
  const message = issue.message.replace(/\.$/, "");
  const where = at.length === 0 ? "" : `${at.join(".")}: `;
  return invalidConfig(path, line, `${where}${message}`, "art-e run --help says what each setting may be.");
}

/** Of a name that cannot be, its issues; of a section that fits none of its forms, those of the form that was meant. */
function problemsIn({ issue, path }: Problem, value: unknown): Problem[] {
  if (issue.code === "invalid_key") return issue.issues.map((inner) => ({ issue: inner, path }));
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return [{ issue, path }];
  const given = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | null)?.[key], value);
  // The forms of a section: a text for its main key (not in every section), its settings, null. Those of a run: the
  // last two.
  const form = issue.errors.at(typeof given === "string" ? 0 : -2) ?? [];
  return form.flatMap((inner) => problemsIn({ issue: inner, path: [...path, ...inner.path] }, value));
}

export function invalidConfig(path: string, line: number | undefined, why: string, hint: string): UserError {
  return new UserError("config_invalid", `${path}${line === undefined ? "" : `:${line}`}: ${why}.`, hint);
}
