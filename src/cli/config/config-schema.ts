import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { z } from "zod";
import { API_KEY_VARIABLES } from "../../models/model-names.js";
import { didYouMean, flagName } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { isLoopback, parseHttpUrl } from "../../platform/http.js";
import { readYamlDocument, type YamlDocument, YamlError } from "../../platform/yaml.js";
import { describe } from "../flags/read-flags.js";
import { type RunFlags, runSchema } from "../flags/run-flags.js";

/**
 * Throws a UserError for dangerous settings in a file that was found in the folder and not specified by the user. Such
 * a file must not choose where API keys are sent or which programs are run, because its author must not get the user's
 * keys.
 */
export function refuseUntrusted(settings: readonly ConfigSetting[], path: string): void {
  const found = settings.find(
    ({ trusted, value }) =>
      trusted === "program" ||
      (trusted === "address" && !isOfThisMachine(value)) ||
      (trusted === "variables" && /\$\{/.test(String(value))),
  );
  if (found === undefined) return;
  const does = DANGERS[found.trusted ?? "program"];
  throw new UserError(
    "config_untrusted",
    `${path}:${found.line}: ${found.name} ${does}, in a file that --config does not name.`,
    `If you trust the file: --config ${path}.`,
  );
}

const DANGERS: Readonly<Record<NonNullable<ConfigField["trusted"]>, string>> = {
  program: "names a program to run",
  address: "names a server that keys may be sent to",
  variables: "sends variables of the environment to a server",
};

function isOfThisMachine(address: unknown): boolean {
  return isLoopback(parseHttpUrl(String(address))?.hostname ?? "");
}

/** A setting as written in the file. */
export interface ConfigSetting {
  readonly flag: ConfigField["flag"];
  readonly trusted: ConfigField["trusted"];
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

interface Problem {
  readonly issue: z.core.$ZodIssue;
  readonly path: readonly PropertyKey[];
}

/** Returns the error for the first invalid entry of the file, with its line. */
function firstConfigError({ issues }: z.ZodError, document: YamlDocument, path: string): UserError {
  const found = issues.flatMap((issue) => problemsIn({ issue, path: issue.path }, document.value));
  const placed = found.map(({ issue, path: at }) => {
    const key = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
    return { issue, at, key, line: document.lineOf(at, key) };
  });
  const [first] = placed.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  if (first === undefined) throw new Error("a schema refuses with an issue");
  const { issue, at, key, line } = first;
  if (key !== undefined) return unknownKeyError(path, line, at.map(String), key);
  const message = issue.message.replace(/\.$/, "");
  const where = at.length === 0 ? "" : `${at.join(".")}: `;
  return invalidConfig(path, line, `${where}${message}`, "art-e run --help says what each setting may be.");
}

/**
 * Replaces an invalid name with its issues, and a section that matches none of its forms with the issues of the
 * intended form.
 */
function problemsIn({ issue, path }: Problem, value: unknown): Problem[] {
  if (issue.code === "invalid_key") return issue.issues.map((inner) => ({ issue: inner, path }));
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return [{ issue, path }];
  const given = path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | null)?.[key], value);
  // A section can be a text for its main key (only some sections), an object with its settings, or null. A run can only
  // be an object or null.
  const form = issue.errors.at(typeof given === "string" ? 0 : -2) ?? [];
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
  const known = below.length > 0 ? [] : Object.keys(fields ?? SECTIONS);
  const meant = probablyMeant(key, section, section === undefined && !isOfRun ? [...known, ...OF_FILE] : known);
  if (meant === "" && SECRET_NAMES.test(key)) return secretInFile(`${at}: ${key}`);
  const holder = section === undefined && !isOfRun ? "There is" : `${parents.join(".")} has`;
  const what = `${holder} no ${section === undefined ? "section" : "setting"}`;
  const takes = known.length === 0 ? "" : `${section ?? (isOfRun ? "A run" : "The file")} takes ${known.join(", ")}.`;
  return new UserError("config_invalid", `${at}: ${what} ${key}.`, `${meant}${takes}`.trim());
}

/** Top-level keys that are not sections. */
const OF_FILE = ["database", "runs"];

/** Suggests a key by its name in another section, by its flag, or by the nearest name in this section. */
function probablyMeant(key: string, section: string | undefined, known: readonly string[]): string {
  const word = flagName(key.replaceAll("_", "-").replace(/^-+/, "")).slice("--".length);
  if (OF_FILE.includes(word)) return `${word} is for the whole file, beside its sections. `;
  const near = didYouMean(word, known);
  if (near !== "") return near;
  const elsewhere = Object.entries(SECTIONS).flatMap(([name, fields]) =>
    Object.entries(fields)
      .filter(([other, { flag }]) => name !== section && (other === word || flagName(flag) === `--${word}`))
      .map(([other]) => `${name}.${other}`),
  );
  if (elsewhere.length > 0) return `Did you mean ${elsewhere.join(" or ")}? `;
  return Object.keys(shape).some((flag) => flagName(flag) === `--${word}`)
    ? `--${word} is for the command line only. `
    : "";
}

function fieldsOf(section: string | undefined): Readonly<Record<string, ConfigField>> | undefined {
  return section === undefined ? undefined : (SECTIONS as Record<string, Record<string, ConfigField>>)[section];
}

const SECRET_NAMES = /api[-_]?key|token$|secret|password|credential|_key$/i;

/** Formats of Anthropic, OpenAI, Google, Hugging Face and GitHub keys. */
const KEYS = /\b(?:sk-[\w-]{20,}|AIza[\w-]{30,}|hf_\w{20,}|gh[pousr]_\w{20,})/;

/** Rejects a file that contains a key, even in a comment, because config files are shared. Does not print the key. */
function refuseSecrets(text: string, path: string): void {
  const line = text.split("\n").findIndex((each) => KEYS.test(each));
  if (line !== -1) throw secretInFile(`${path}:${line + 1}: what looks like a key`);
}

function secretInFile(what: string): UserError {
  const variables = Object.values(API_KEY_VARIABLES).flat().join(", ");
  return new UserError(
    "config_secret_refused",
    `${what} has no place in this file.`,
    `Keys come from the environment, or from .env: ${variables}.`,
  );
}

/** A setting of the config file: its allowed values and the corresponding flag. */
interface ConfigField {
  readonly flag: keyof RunFlags;
  /** Converts the value in the file into the value typed for the flag. */
  readonly schema: z.ZodType;
  /**
   * The value is a path relative to the config file. `source` can also be a name, if no such file exists, and `model`
   * contains a path only in the form replay/FILE.
   */
  readonly path?: "file" | "source" | "model";
  /**
   * The setting runs a program, or sends keys or variables to an address. Allowed only in a file passed with --config.
   */
  readonly trusted?: "address" | "program" | "variables";
}

const { shape } = runSchema;

/** A setting with the same syntax as on the command line. */
function field(flag: keyof RunFlags, more: Omit<ConfigField, "flag" | "schema"> = {}): ConfigField {
  return { flag, schema: required(shape[flag]), ...more };
}

function required(schema: z.ZodType): z.ZodType {
  const isOptional = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault;
  return isOptional ? required(schema.unwrap() as z.ZodType) : schema;
}

/** A setting with its own syntax, converted to text and checked with the flag's schema. */
function fieldAs(flag: keyof RunFlags, form: z.ZodType<string>): ConfigField {
  const schema = form.superRefine((text, context) => {
    const [issue] = required(shape[flag]).safeParse(text).error?.issues ?? [];
    if (issue !== undefined) context.addIssue({ code: "custom", message: issue.message });
  });
  return { flag, schema };
}

/** A mapping of names to values, for a flag that accepts NAME=VALUE and can be repeated. */
function namedValues(flag: keyof RunFlags, value: z.ZodType): ConfigField {
  const schema = z
    .record(z.string(), value, "expected NAME: VALUE")
    .transform((values) =>
      Object.entries(values).map(
        ([name, given]) => `${name}=${flag.endsWith("eader") ? given : JSON.stringify(given)}`,
      ),
    )
    .superRefine((written, context) => {
      const [issue] = required(shape[flag]).safeParse(written).error?.issues ?? [];
      if (issue !== undefined) context.addIssue({ code: "custom", message: issue.message });
    });
  return { flag, schema, trusted: "variables" };
}

const listed = (item: z.ZodType<string | number>) =>
  z.array(item, "expected a list, such as [a, b]").transform((items) => items.join(","));

const names = listed(z.string("expected a text"));

const thresholds = z
  .record(z.string(), z.number("expected a number"), "expected METRIC: VALUE, such as accuracy: 0.8")
  .transform((limits) =>
    Object.entries(limits)
      .map(([metric, limit]) => `${metric}=${limit}`)
      .join(","),
  );

const PRICE = "expected US dollars for a million tokens";
const dollars = z.number(PRICE).nonnegative(PRICE);
const prices = z
  .strictObject({ input: dollars, output: dollars, cached: dollars.optional() }, "expected input and output")
  .transform(({ input, output, cached }) => [input, output, ...(cached === undefined ? [] : [cached])].join(","));

const numberOr = (word: z.ZodType<string>, message: string) =>
  z.union([z.number(message), word], message).transform(String);

/** The settings of each section, by key. */
export const SECTIONS = {
  agent: {
    id: field("agent"),
    command: field("agentCommand", { trusted: "program" }),
    url: field("agentUrl", { trusted: "address" }),
    "api-url": field("apiUrl", { trusted: "address" }),
    workspace: field("workspace"),
    "tell-task": field("tellTask"),
  },
  model: {
    id: field("modelId", { path: "model" }),
    provider: field("modelProvider"),
    "base-url": field("baseUrl", { trusted: "address" }),
    "wire-api": field("wireApi"),
    "max-tokens": field("maxTokens"),
    "reasoning-tokens": field("reasoningTokens"),
    "reasoning-effort": field("reasoningEffort"),
    temperature: field("temperature"),
    headers: namedValues("header", z.string("expected a text")),
    body: namedValues("body", z.unknown()),
    price: fieldAs("price", prices),
  },
  dataset: {
    file: field("dataset", { path: "file" }),
    split: field("split"),
    "use-json": field("useJson"),
    revision: field("revision"),
    "min-realism": field("minRealism"),
    "max-sources": field("maxSources"),
    ids: fieldAs("ids", listed(z.number("expected a number"))),
    inbox: field("inbox"),
    "exclude-known-bad": field("excludeKnownBad"),
    "partial-inboxes": field("partialInboxes"),
    cutoff: field("cutoff"),
    protocol: field("protocol"),
  },
  suite: {
    folder: field("suite", { path: "file" }),
    task: fieldAs("task", names),
    tool: field("tool"),
    tag: fieldAs("tag", names),
    index: field("index"),
    counterparts: field("counterparts"),
    runnable: field("runnable"),
    oracle: field("oracle", { path: "file" }),
    functions: field("functions", { path: "file", trusted: "program" }),
    "account-settings": field("accountSettings", { path: "file" }),
  },
  run: {
    limit: field("limit"),
    epochs: field("epochs"),
    shuffle: field("shuffle"),
    seed: field("seed"),
    scorers: fieldAs("scorers", names),
    cache: field("cache"),
    output: field("output", { path: "file" }),
    record: field("record", { path: "file" }),
  },
  limits: {
    "max-cost": field("maxCost"),
    "max-task-cost": field("maxTaskCost"),
    "max-run-tokens": field("maxRunTokens"),
    "max-time": field("maxTime"),
    "max-failures": fieldAs("maxFailures", numberOr(z.string(), "expected a number of tasks, or a share such as 5%")),
    "max-turns": field("maxTurns"),
    "task-timeout": field("taskTimeout"),
    "request-timeout": field("requestTimeout"),
    concurrency: fieldAs("concurrency", numberOr(z.literal("auto"), "expected auto, or a whole number from 1 to 9999")),
    rpm: field("rpm"),
    tpm: field("tpm"),
  },
  judge: {
    model: field("judge", { path: "model" }),
    votes: field("judgeVotes"),
    "base-url": field("judgeBaseUrl", { trusted: "address" }),
    "reasoning-effort": field("judgeReasoningEffort"),
    headers: namedValues("judgeHeader", z.string("expected a text")),
    body: namedValues("judgeBody", z.unknown()),
  },
  gates: {
    "fail-under": fieldAs("failUnder", thresholds),
    "min-coverage": field("minCoverage"),
    baseline: field("baseline", { path: "source" }),
    "no-worse-than": field("noWorseThan"),
    metric: field("metric"),
    junit: field("junit", { path: "file" }),
  },
  traces: {
    otlp: field("otlp"),
    "otlp-endpoint": field("otlpEndpoint", { trusted: "address" }),
    scores: field("scores"),
    "no-content": field("noContent"),
  },
} satisfies Record<string, Readonly<Record<string, ConfigField>>>;

export type SectionName = keyof typeof SECTIONS;

/** Main keys of sections that can be written as a single text, which is the value of this key. */
const MAIN_KEYS: Readonly<Partial<Record<SectionName, string>>> = {
  agent: "id",
  model: "id",
  dataset: "file",
  suite: "folder",
  judge: "model",
};

const DESCRIPTIONS: Readonly<Record<SectionName, string>> = {
  agent: "The agent to test: its id, or where it runs",
  model: "The model that the agent uses",
  dataset: "Questions about mailboxes: the published ones without file",
  suite: "Tasks of a suite's folder, instead of questions",
  run: "How many tasks, how often, what is scored and written",
  limits: "What a run, a task and a request may take",
  judge: "The model that judges the answers; off: none",
  gates: "What a run must reach, for art-e run and art-e gate",
  traces: "Where traces are sent; keys come from OTEL_EXPORTER_OTLP_HEADERS",
};

/** A section is null (only comments), a text for its main key, or an object with its settings. */
const sections = Object.fromEntries(
  Object.entries(SECTIONS).map(([name, fields]) => [name, sectionSchema(name as SectionName, fields).optional()]),
) as Record<SectionName, z.ZodOptional<ReturnType<typeof sectionSchema>>>;

const EXPECTED = "expected sections such as agent, dataset and limits";

/** The run name is also a tag of the run in the database. */
const runName = z
  .string()
  .regex(
    /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,49}$/u,
    "expected a name of up to 50 letters, digits, dots, dashes, underscores",
  )
  .regex(/\D/, "expected a name that is no number");

export const configSchema = z.strictObject(
  {
    database: z
      .string("expected a path")
      .min(1, "expected a path")
      .optional()
      .describe("The database of every command that is called in the folder of art-e.yaml (--db)"),
    ...sections,
    runs: z
      .record(
        runName,
        z.union([z.strictObject(sections, EXPECTED), z.null().transform(() => ({}))]),
        "expected NAME: with sections below it",
      )
      .optional()
      .describe("Runs by their names, in order, each with what differs from the sections of the file"),
  },
  EXPECTED,
);

function sectionSchema(name: SectionName, fields: Readonly<Record<string, ConfigField>>) {
  const settings = z.strictObject(
    Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, described(field).optional()])),
    `expected settings such as ${Object.keys(fields).slice(0, 3).join(", ")}`,
  );
  const key = MAIN_KEYS[name];
  const main = key === undefined ? undefined : fields[key]?.schema;
  const forms = main === undefined ? [settings] : [main.transform((value) => ({ [key ?? ""]: value })), settings];
  return z.union([...forms, z.null().transform(() => ({}))]).meta({ id: name, description: DESCRIPTIONS[name] });
}

/** Describes the setting with the help text of its flag. */
function described({ flag, schema }: ConfigField): z.ZodType {
  return schema.describe(`${describe(shape[flag]) ?? ""} (${flagName(flag)})`);
}
