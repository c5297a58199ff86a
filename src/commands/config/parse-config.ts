import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { readYamlDocument, type YamlDocument, YamlError } from "../../platform/yaml-document.js";
import { firstConfigError, invalidConfig } from "./config-errors.js";
import type { ConfigField } from "./config-field.js";
import { configSchema } from "./config-schema.js";
import { SECTIONS } from "./config-sections.js";
import { refuseSecrets } from "./refuse-secrets.js";

/** A setting as the file has it. */
export interface ConfigSetting {
  readonly flag: ConfigField["flag"];
  readonly trusted: ConfigField["trusted"];
  readonly section: string;
  readonly key: string;
  /** `limits.max-cost`, or of a run `runs.NAME.limits.max-cost`. */
  readonly name: string;
  /** As it would be typed for the flag; paths start from the working folder. */
  readonly value: unknown;
  readonly line: number;
}

export interface ConfigFile {
  /** Path from the working folder; null: the file names none. */
  readonly database: string | null;
  /** Of every run. */
  readonly settings: readonly ConfigSetting[];
  /** What each run has of its own, by its name, in the order of the file. */
  readonly runs: ReadonlyMap<string, readonly ConfigSetting[]>;
}

/** Reads the text of a config file. Throws a UserError with file and line for the first thing that is wrong. */
export function parseConfig(text: string, path: string): ConfigFile {
  refuseSecrets(text, path);
  const document = readDocument(text, path);
  // A file of comments only.
  if (document.value === null) return { database: null, settings: [], runs: new Map() };
  const read = configSchema.safeParse(document.value);
  if (!read.success) throw firstConfigError(read.error, document, path);
  const { database, runs = {}, ...sections } = read.data;
  const settings = (of: Sections, parents: readonly string[]) => settingsOf(of, parents, document, path);
  return {
    database: database === undefined ? null : besideFile(database, dirname(path)),
    settings: settings(sections, []),
    runs: new Map(Object.entries(runs).map(([name, own]) => [name, settings(own, ["runs", name])])),
  };
}

type Sections = Readonly<Record<string, unknown>>;

function settingsOf(
  sections: Sections,
  parents: readonly string[],
  document: YamlDocument,
  path: string,
): ConfigSetting[] {
  return Object.entries(sections).flatMap(([section, settings]) =>
    Object.entries((settings ?? {}) as Record<string, unknown>).flatMap(([key, given]) => {
      const field = (SECTIONS as Record<string, Record<string, ConfigField>>)[section]?.[key];
      if (field === undefined || given === undefined) return [];
      const { flag, trusted } = field;
      const at = [...parents, section, key];
      const value = fromFile(given, field, dirname(path));
      return { section, key, name: at.join("."), flag, trusted, value, line: document.lineOf(at) ?? 1 };
    }),
  );
}

function readDocument(text: string, path: string): YamlDocument {
  try {
    return readYamlDocument(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw invalidConfig(path, error.line, error.message, "Write it as YAML; art-e init writes an example.");
  }
}

/** Paths in the file start from its folder. */
function fromFile(value: unknown, { path: kind }: ConfigField, folder: string): unknown {
  if (kind === undefined || typeof value !== "string") return value;
  const beside = (path: string) => besideFile(path, folder);
  if (kind === "file") return beside(value);
  if (kind === "source") return existsSync(beside(value)) ? beside(value) : value;
  return value.replace(/^((?:art:)?replay\/)(.+)$/s, (_, prefix: string, path: string) => prefix + beside(path));
}

function besideFile(path: string, folder: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}
