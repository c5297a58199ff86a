// The schema of the config file, and the settings that an unrequested file must not contain.
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { z } from "zod";
import { API_KEY_VARIABLES } from "../../models/model-names.js";
import { flagName } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { isOptional, traitsOf } from "../../platform/flag-values.js";
import { isLoopback, parseHttpUrl } from "../../platform/http.js";
import { didYouMean } from "../../platform/near-names.js";
import { presentProperties } from "../../platform/optional-values.js";
import { containsKey, isSecretName } from "../../platform/secrets.js";
import { readYamlDocument, type YamlDocument, YamlError } from "../../platform/yaml.js";
import { type ConfigSection, flagsWhere, RUN_FLAGS, type RunFlagName, runSchema } from "../../runs/run-flags.js";
import { describe } from "../flags/define-command.js";

/** A setting as written in the file. */
export interface ConfigSetting {
  readonly flag: RunFlagName;
  readonly risk: ConfigField["risk"];
  readonly section: string;
  readonly key: string;
  /** Path in the file, such as `limits.max-cost` or `runs.NAME.limits.max-cost`. */
  readonly name: string;
  /** Value as typed for the flag. Paths are relative to the working directory. */
  readonly value: unknown;
  readonly line: number;
}

export interface ConfigFile {
  /** Path relative to the working directory, or null if the file does not specify a database. */
  readonly database: string | null;
  /** Settings shared by all runs. */
  readonly settings: readonly ConfigSetting[];
  /** Each run's own settings by run name, in the order of the file. */
  readonly runs: ReadonlyMap<string, readonly ConfigSetting[]>;
}

type Sections = Readonly<Record<string, unknown>>;

interface Problem {
  readonly issue: z.core.$ZodIssue;
  readonly path: readonly PropertyKey[];
}

/** A setting of the config file and the corresponding flag. */
interface ConfigField extends Pick<ReturnType<typeof traitsOf>, "path" | "risk"> {
  readonly flag: RunFlagName;
  /** Converts the value in the file into the value typed for the flag. */
  readonly schema: z.ZodType;
}

/**
 * Throws a UserError for dangerous settings in a file that was found in the folder and not specified by the user. Such
 * a file must not choose where API keys are sent or which programs are run, because its author must not get the user's
 * keys.
 */
export function refuseUntrusted(settings: readonly ConfigSetting[], path: string): void {
  const riskySetting = settings.find(
    ({ risk, value }) =>
      risk === "program" ||
      (risk === "address" && !isOfThisMachine(value)) ||
      (risk === "variables" && /\$\{/.test(String(value))),
  );
  if (riskySetting === undefined) return;
  const does = DANGERS[riskySetting.risk ?? "program"];
  throw new UserError(
    "config_untrusted",
    `${path}:${riskySetting.line}: ${riskySetting.name} ${does}, in a config file that was not passed with --config.`,
    `If you trust the file: --config ${path}.`,
  );
}

const DANGERS: Readonly<Record<NonNullable<ConfigField["risk"]>, string>> = {
  program: "runs a program",
  address: "can send keys to a server",
  variables: "sends environment variables to a server",
};

function isOfThisMachine(address: unknown): boolean {
  return isLoopback(parseHttpUrl(String(address))?.hostname ?? "");
}

/** Parses the text of a config file. Throws a UserError with file and line for the first invalid entry. */
export function parseConfig(text: string, path: string): ConfigFile {
  refuseSecrets(text, path);
  const document = readDocument(text, path);
  // The file contains only comments.
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

function settingsOf(
  sections: Sections,
  parents: readonly string[],
  document: YamlDocument,
  path: string,
): ConfigSetting[] {
  return Object.entries(sections).flatMap(([section, settings]) =>
    Object.entries((settings ?? {}) as Record<string, unknown>).flatMap(([key, setting]) => {
      const field = fieldsOf(section)?.[key];
      if (field === undefined || setting === undefined) return [];
      const { flag, risk } = field;
      const at = [...parents, section, key];
      const value = fromFile(setting, field, dirname(path));
      return { section, key, name: at.join("."), flag, risk, value, line: document.lineOf(at) ?? 1 };
    }),
  );
}

function readDocument(text: string, path: string): YamlDocument {
  try {
    return readYamlDocument(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw invalidConfig(path, error.line, error.message, "art-e init writes an example.");
  }
}

/** Resolves a path relative to the folder of the config file. */
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

/** Returns the error for the first invalid entry of the file, with its line. */
function firstConfigError({ issues }: z.ZodError, document: YamlDocument, path: string): UserError {
  const problems = issues.flatMap((issue) => problemsIn({ issue, path: issue.path }, document.value));
  const placed = problems.map(({ issue, path: at }) => {
    const key = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
    return { issue, at, key, line: document.lineOf(at, key) };
  });
  const [first] = placed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  if (first === undefined) throw new Error("a schema reports an issue");
  const { issue, at, key, line } = first;
  if (key !== undefined) return unknownKeyError(path, line, at.map(String), key);
  const message = issue.message.replace(/\.$/, "");
  const where = at.length === 0 ? "" : `${at.join(".")}: `;
  return invalidConfig(path, line, `${where}${message}`, "See art-e run --help for the values of each setting.");
}

/**
 * Replaces an invalid name with its issues, and a section that matches none of its forms with the issues of the
 * intended form.
 */
function problemsIn({ issue, path }: Problem, value: unknown): Problem[] {
  if (issue.code === "invalid_key") return issue.issues.map((inner) => ({ issue: inner, path }));
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return [{ issue, path }];
  const input = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | null)?.[key], value);
  // A section can be a text for its main key (only some sections), an object with its settings, or null. A run can only
  // be an object or null.
  const form = issue.errors.at(typeof input === "string" ? 0 : -2) ?? [];
  return form.flatMap((inner) => problemsIn({ issue: inner, path: [...path, ...inner.path] }, value));
}

function invalidConfig(path: string, line: number | undefined, why: string, hint: string): UserError {
  return new UserError("config_invalid", `${path}${line === undefined ? "" : `:${line}`}: ${why}.`, hint);
}

/**
 * Returns the error for an unknown key, with a suggestion. `parents` contains the section of the key. It is empty for a
 * section itself, and starts with `runs` and a run name inside a run.
 */
function unknownKeyError(path: string, line: number | undefined, parents: readonly string[], key: string): UserError {
  const at = `${path}:${line ?? 1}`;
  const isOfRun = parents[0] === "runs";
  const [section, ...below] = isOfRun ? parents.slice(2) : parents;
  const fields = fieldsOf(section);
  const names = below.length > 0 ? [] : Object.keys(fields ?? SECTIONS);
  const suggestion = probablyMeant(key, section, section === undefined && !isOfRun ? [...names, ...OF_FILE] : names);
  if (suggestion === "" && isSecretName(key)) return secretInFile(`${at}: ${key}`);
  const holder = section === undefined && !isOfRun ? "There is" : `${parents.join(".")} has`;
  const what = `${holder} no ${section === undefined ? "section" : "setting"}`;
  const takes = names.length === 0 ? "" : `${section ?? (isOfRun ? "A run" : "The file")} takes ${names.join(", ")}.`;
  return new UserError("config_invalid", `${at}: ${what} ${key}.`, `${suggestion}${takes}`.trim());
}

/** Top-level keys that are not sections. */
const OF_FILE = ["database", "runs"];

/** Suggests a key by its name in another section, by its flag, or by the nearest name in this section. */
function probablyMeant(key: string, section: string | undefined, names: readonly string[]): string {
  const word = flagName(key.replaceAll("_", "-").replace(/^-+/, "")).slice("--".length);
  if (OF_FILE.includes(word)) return `${word} belongs at the top level of the file, next to the sections. `;
  const near = didYouMean(word, names);
  if (near !== "") return near;
  const suggestions = Object.entries(SECTIONS).flatMap(([name, fields]) =>
    Object.entries(fields)
      .filter(([other, { flag }]) => name !== section && (other === word || flagName(flag) === `--${word}`))
      .map(([other]) => `${name}.${other}`),
  );
  if (suggestions.length > 0) return `Did you mean ${suggestions.join(" or ")}? `;
  return Object.keys(shape).some((flag) => flagName(flag) === `--${word}`)
    ? `--${word} only works on the command line. `
    : "";
}

function fieldsOf(section: string | undefined): Readonly<Record<string, ConfigField>> | undefined {
  return (SECTIONS as Readonly<Record<string, Readonly<Record<string, ConfigField>>>>)[section ?? ""];
}

/** Rejects a file that contains a key, even in a comment, because config files are shared. Does not print the key. */
function refuseSecrets(text: string, path: string): void {
  const line = text.split("\n").findIndex((each) => containsKey(each));
  if (line !== -1) throw secretInFile(`${path}:${line + 1}: what looks like a key`);
}

function secretInFile(what: string): UserError {
  const variables = Object.values(API_KEY_VARIABLES).flat().join(", ");
  return new UserError(
    "config_secret_refused",
    `${what} does not belong in this file.`,
    `Put keys into the environment or .env: ${variables}.`,
  );
}

const { shape } = runSchema;

/** The flag's value has the same syntax in the file, unless it has its own, which is checked with the flag's schema. */
function configField(flag: RunFlagName): ConfigField {
  const typed = withoutDefault(shape[flag]);
  const { inConfig, path, risk } = traitsOf(typed);
  const schema =
    inConfig?.superRefine((value, context) => {
      const [issue] = typed.safeParse(value).error?.issues ?? [];
      if (issue !== undefined) context.addIssue({ code: "custom", message: issue.message });
    }) ?? typed;
  return { flag, schema, ...presentProperties({ path, risk }) };
}

function withoutDefault(schema: z.ZodType): z.ZodType {
  return isOptional(schema) ? withoutDefault(schema.unwrap() as z.ZodType) : schema;
}

const SECTION_INFO: Readonly<
  Record<
    ConfigSection,
    { readonly description: string /** Key of a section written as a text. */; readonly main?: string }
  >
> = {
  agent: { description: "The agent to test: its id, or an external agent", main: "id" },
  model: { description: "The model that the agent uses", main: "id" },
  dataset: { description: "Questions about mailboxes. The default is the published dataset", main: "file" },
  suite: { description: "Suite tasks instead of questions", main: "folder" },
  run: { description: "Number of tasks and repetitions, scorers, and output files" },
  limits: { description: "Limits for a run, a task and a request" },
  judge: { description: "The model that judges the answers, or off", main: "model" },
  gates: { description: "Minimum results for art-e run and art-e gate" },
  traces: { description: "OTLP server for traces. Its keys come from OTEL_EXPORTER_OTLP_HEADERS" },
};

const SECTION_NAMES = Object.keys(SECTION_INFO) as ConfigSection[];

/** The settings of each section, by key. */
export const SECTIONS = Object.fromEntries(SECTION_NAMES.map((section) => [section, fieldsIn(section)])) as Readonly<
  Record<ConfigSection, Readonly<Record<string, ConfigField>>>
>;

function fieldsIn(section: ConfigSection): Readonly<Record<string, ConfigField>> {
  const flags = flagsWhere(({ config }) => config?.startsWith(`${section}.`) === true);
  return Object.fromEntries(flags.map((flag) => [RUN_FLAGS[flag].config?.split(".")[1] ?? "", configField(flag)]));
}

/** A section is null (only comments), a text for its main key, or an object with its settings. */
const sections = Object.fromEntries(SECTION_NAMES.map((name) => [name, sectionSchema(name).optional()])) as Record<
  ConfigSection,
  z.ZodOptional<ReturnType<typeof sectionSchema>>
>;

const EXPECTED = "expected sections such as agent, dataset and limits";

/** The run name is also a tag of the run in the database. */
const runName = z
  .string()
  .regex(
    /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,49}$/u,
    "expected a name of up to 50 letters, digits, dots, dashes, underscores",
  )
  .regex(/\D/, "expected a name that is not a number");

export const configSchema = z.strictObject(
  {
    database: z
      .string("expected a path")
      .min(1, "expected a path")
      .optional()
      .describe("The database for every command run in the folder that contains art-e.yaml (--db)"),
    ...sections,
    runs: z
      .record(
        runName,
        z.union([z.strictObject(sections, EXPECTED), z.null().transform(() => ({}))]),
        "expected NAME: with sections below it",
      )
      .optional()
      .describe("Runs by name, in order. Each has the settings that differ from the sections of the file"),
  },
  EXPECTED,
);

function sectionSchema(name: ConfigSection) {
  const fields = SECTIONS[name];
  const { description, main: key } = SECTION_INFO[name];
  const settings = z.strictObject(
    Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, described(field).optional()])),
    `expected settings such as ${Object.keys(fields).slice(0, 3).join(", ")}`,
  );
  const main = key === undefined ? undefined : fields[key]?.schema;
  const forms = main === undefined ? [settings] : [main.transform((value) => ({ [key ?? ""]: value })), settings];
  return z.union([...forms, z.null().transform(() => ({}))]).meta({ id: name, description });
}

/** Describes the setting with the help text of its flag. */
function described({ flag, schema }: ConfigField): z.ZodType {
  return schema.describe(`${describe(shape[flag]) ?? ""} (${flagName(flag)})`);
}
