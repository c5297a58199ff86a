import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import type { z } from "zod";
import { UserError } from "../../domain/errors.js";
import { readYamlDocument, type YamlDocument, YamlError } from "../../platform/yaml-document.js";
import type { ConfigField } from "./config-field.js";
import { configSchema } from "./config-schema.js";
import { SECTIONS } from "./config-sections.js";
import { refuseSecrets } from "./refuse-secrets.js";
import { unknownKeyError } from "./unknown-key.js";

/** A setting as the file has it. */
export interface ConfigSetting {
  readonly flag: ConfigField["flag"];
  readonly trusted: ConfigField["trusted"];
  readonly section: string;
  /** `limits.max-cost` */
  readonly name: string;
  /** As it would be typed for the flag; paths start from the working folder. */
  readonly value: unknown;
  readonly line: number;
}

/** Reads the text of a config file. Throws a UserError with file and line for the first thing that is wrong. */
export function parseConfig(text: string, path: string): ConfigSetting[] {
  refuseSecrets(text, path);
  const document = readDocument(text, path);
  // A file of comments only.
  if (document.value === null) return [];
  const read = configSchema.safeParse(document.value);
  if (!read.success) throw firstError(read.error, document, path);
  return Object.entries(read.data).flatMap(([section, settings]) =>
    Object.entries((settings ?? {}) as Record<string, unknown>).flatMap(([key, value]) => {
      const field = (SECTIONS as Record<string, Record<string, ConfigField>>)[section]?.[key];
      if (field === undefined || value === undefined) return [];
      const { flag, trusted } = field;
      const line = document.lineOf([section, key]) ?? 1;
      return { section, name: `${section}.${key}`, flag, trusted, value: fromFile(value, field, dirname(path)), line };
    }),
  );
}

function readDocument(text: string, path: string): YamlDocument {
  try {
    return readYamlDocument(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw invalid(path, error.line, error.message, "Write it as YAML; art-e init writes an example.");
  }
}

/** Paths in the file start from its folder. */
function fromFile(value: unknown, { path: kind }: ConfigField, folder: string): unknown {
  if (kind === undefined || typeof value !== "string") return value;
  const beside = (path: string) => (isAbsolute(path) ? path : join(folder, path));
  if (kind === "file") return beside(value);
  if (kind === "source") return existsSync(beside(value)) ? beside(value) : value;
  return value.replace(/^((?:art:)?replay\/)(.+)$/s, (_, prefix: string, path: string) => prefix + beside(path));
}

interface Problem {
  readonly issue: z.core.$ZodIssue;
  readonly path: readonly PropertyKey[];
}

function firstError({ issues }: z.ZodError, document: YamlDocument, path: string): UserError {
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
  return invalid(path, line, `${where}${message}`, "art-e run --help says what each setting may be.");
}

/** Of a section that fits none of its forms, the issues of the form that was meant. */
function problemsIn({ issue, path }: Problem, value: unknown): Problem[] {
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return [{ issue, path }];
  const given = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | null)?.[key], value);
  // The forms of a section: a text for its main key (not in every section), its settings, null.
  const form = issue.errors.at(typeof given === "string" ? 0 : -2) ?? [];
  return form.flatMap((inner) => problemsIn({ issue: inner, path: [...path, ...inner.path] }, value));
}

function invalid(path: string, line: number | undefined, why: string, hint: string): UserError {
  return new UserError("config_invalid", `${path}${line === undefined ? "" : `:${line}`}: ${why}.`, hint);
}
