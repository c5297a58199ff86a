// Account settings: secret files that only some tasks may see, and their redaction from what agents read.
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join, normalize, relative } from "node:path";
import { UserError } from "../../platform/errors.js";
import { statOf } from "../../platform/file-stats.js";
import { isJsonObject, isShallow, type JsonValue } from "../../platform/json.js";
import { compact } from "../../platform/optional-values.js";
import { redact, redactBytes } from "../../platform/secrets.js";
import { HOME, type TaskMachine } from "../../sandbox/task-machine.js";
import type { SuiteTask } from "../../tasks/suite-task.js";
import { ACCOUNT_TAG, fileStateOf, SPIDER_CONTENT, type SuiteFolder, stateOf } from "../suite-folder.js";

type AccountFile = { readonly text: string } | { readonly missing: string };

/** Whether account settings are filled in. */
export type SettingsState =
  | { readonly state: "filled" | "missing" | "template_only" | "unreadable" }
  | { readonly state: "placeholders"; readonly fields: readonly string[] };

/**
 * Returns the machine as the agent sees it, without the values of account settings. The agent can still use them there.
 */
export function redactedMachine(machine: TaskMachine, secrets: readonly string[]): TaskMachine {
  return {
    canRun: machine.canRun,
    workdir: machine.workdir ?? HOME,
    copyIn: (from, path) => machine.copyIn(from, path),
    async copyOut(path, to) {
      if (!(await machine.copyOut(path, to))) return false;
      const bytes = await readFile(to, "latin1");
      const clean = redactBytes(bytes, secrets);
      if (clean !== bytes) await writeFile(to, clean, "latin1");
      return true;
    },
    async run(command, signal) {
      const { exitCode, stdout, stderr } = await machine.run(command, signal);
      return { exitCode, stdout: redact(stdout, secrets), stderr: redact(stderr, secrets) };
    },
  };
}

/**
 * Returns which account settings a task is missing, or null if none are missing or the task does not need an account.
 */
export function findMissingAccount(task: SuiteTask, accounts: AccountSettings | undefined): string | null {
  if (!task.tags.includes(ACCOUNT_TAG)) return null;
  if (accounts === undefined) return "the task is tagged account";
  const texts = textsOf([task.config, task.evaluation] as unknown as JsonValue);
  const names = new Set(texts.flatMap((text) => settingsName(text) ?? []));
  if (names.size === 0 && accounts.secrets().length === 0)
    return "the task is tagged account, but account settings are missing";
  for (const name of names) {
    const file = accounts.read(name);
    if ("missing" in file) return file.missing;
  }
  return null;
}

export const ONLY_ACCOUNT_TASKS = "only tasks tagged account get account settings";

/** Returns the contents of a settings file. Throws if it is missing or the task must not see it. */
export function readAccountSettings(name: string, { tags }: SuiteTask, accounts: AccountSettings | undefined): string {
  if (!tags.includes(ACCOUNT_TAG)) throw new Error(`settings/${name}: ${ONLY_ACCOUNT_TASKS}`);
  const file = accounts?.read(name) ?? { missing: `settings/${name} is missing` };
  if ("missing" in file) throw new Error(file.missing);
  return file.text;
}

/** Returns both possible folders for account settings in a suite's root. */
export function settingsFolders(root: string): string[] {
  return [join(root, "settings"), join(root, SPIDER_CONTENT, "settings")];
}

/**
 * Returns `snowflake/settings.json` for `evaluation_examples/settings/snowflake/settings.json`, or null for other
 * paths.
 */
export function settingsName(path: string): string | null {
  const below = normalize(path).replace(`${SPIDER_CONTENT}/`, "");
  return below.startsWith("settings/") ? below.slice("settings/".length) : null;
}

const MAX_BYTES = 100_000;

/**
 * The user's settings for tasks that need an account: files in a separate folder or in the suite's `settings/`, and
 * environment variables, which take precedence over the files' fields.
 */
export class AccountSettings {
  private cachedSecrets: readonly string[] | null = null;
  /** The user's own folder comes first. Its files can be links. */
  private readonly folders: readonly { readonly path: string; readonly isOwn: boolean }[];

  constructor(
    suite: SuiteFolder,
    folder: string | null,
    private readonly env: Readonly<Record<string, string | undefined>>,
  ) {
    if (folder !== null && !statOf(folder)?.isDirectory()) {
      throw new UserError(
        "accounts_missing",
        `--account-settings: ${folder} is not a folder.`,
        "Pass a folder with files such as snowflake/settings.json.",
      );
    }
    this.folders = compact([
      folder !== null && { path: folder, isOwn: true },
      { path: join(suite.content, "settings"), isOwn: false },
    ]);
  }

  /** Returns the contents of a file such as `snowflake/settings.json`, or why it cannot be used. */
  read(name: string): AccountFile {
    const file = this.find(name);
    if (file !== null && !name.endsWith(".json")) return { text: readFileSync(file, "utf8") };
    const value = this.merge(name, file);
    if (value === undefined) {
      return { missing: file === null ? `settings/${name} is missing` : `settings/${name} is not JSON` };
    }
    const fields = findPlaceholders(value);
    if (fields.length > 0) return { missing: `settings/${name} is not filled in: ${fields.join(", ")}` };
    return { text: `${JSON.stringify(value, null, 4)}\n` };
  }

  /** Returns the texts that must not be shown: all filled-in values, and their usual variants. */
  secrets(): readonly string[] {
    this.cachedSecrets ??= secretForms(this.allNames().flatMap((name) => this.valuesOf(name)));
    return this.cachedSecrets;
  }

  /** Merges a file with the variables' fields. If only a template exists, returns just those fields. */
  private merge(name: string, file: string | null): JsonValue | undefined {
    const template = this.find(name + TEMPLATE_ENDING);
    const pattern = template === null ? undefined : readSettings(template);
    const names = Object.keys(isJsonObject(pattern) ? pattern : {});
    const fields = fieldsFromEnvironment(name, names, this.env);
    const below = file === null ? pattern : readSettings(file);
    if (Object.keys(fields).length === 0) return file === null ? undefined : below;
    return { ...(isJsonObject(below) ? below : {}), ...fields };
  }

  /** Returns a file's values without the template's, which are public. */
  private valuesOf(name: string): string[] {
    const template = this.find(name + TEMPLATE_ENDING);
    const templateTexts = new Set(template === null ? [] : textsOf(readSettings(template)));
    return textsOf(this.merge(name, this.find(name))).filter((text) => !templateTexts.has(text));
  }

  private find(name: string): string | null {
    for (const { path, isOwn } of this.folders) {
      const state = fileStateOf(path, name);
      if (state !== "file" && !(isOwn && state === "link")) continue;
      const file = join(path, name);
      const stats = statOf(file);
      if (stats?.isFile() && stats.size <= MAX_BYTES) return file;
    }
    return null;
  }

  /** Returns the names of the JSON files that are filled in or have a template. */
  private allNames(): string[] {
    const names = this.folders.flatMap(({ path }) => {
      if (!statOf(path)?.isDirectory()) return [];
      return readdirSync(path, { recursive: true, withFileTypes: true }).map(({ parentPath, name }) =>
        relative(path, join(parentPath, name.replace(/\.template$/, ""))),
      );
    });
    return [...new Set(names)].filter((name) => name.endsWith(".json"));
  }
}

/** Common words, which are not redacted, because that would hide paths rather than secrets. */
const PUBLIC: ReadonlySet<string> = new Set(["admin", "home", "root", "user", "true", "false", "none", "null"]);

/** Returns the strings and numbers in a JSON value, at any depth. */
function textsOf(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((item) => textsOf(item as JsonValue));
}

/** Returns secrets as programs print them: complete, and line by line. */
function secretForms(values: readonly string[]): string[] {
  const secrets = values.filter((value) => !PUBLIC.has(value.toLowerCase()));
  return [...new Set(secrets.flatMap((secret) => [secret, ...linesOf(secret)]))];
}

/** Returns the long lines of a multi-line secret, such as a private key. */
function linesOf(secret: string): string[] {
  return secret.includes("\n") ? secret.split("\n").filter((line) => line.length >= 16) : [];
}

const MAX_SETTINGS_BYTES = 1_000_000;

export const TEMPLATE_ENDING = ".template";

/** Checks a settings file and the template next to it. Compares values but never shows them. */
export function readSettingsState(path: string): SettingsState {
  if (!isFile(path)) return { state: isFile(path + TEMPLATE_ENDING) ? "template_only" : "missing" };
  if (!path.endsWith(".json")) return { state: "filled" };
  const settings = readSettings(path);
  if (settings === undefined) return { state: "unreadable" };
  const fields = findPlaceholders(settings);
  return fields.length === 0 ? { state: "filled" } : { state: "placeholders", fields };
}

/** Parses JSON with // comments. Undefined if it is invalid. */
function readSettings(path: string): JsonValue | undefined {
  if (lstatSync(path).size > MAX_SETTINGS_BYTES) return undefined;
  try {
    const settings: JsonValue = JSON.parse(stripJsonComments(readFileSync(path, "utf8")));
    return isShallow(settings) ? settings : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the fields with a template's value: `xxxx`, `your_password`, `USER_NAME`, `{project_id}`, or an empty text.
 */
function findPlaceholders(value: JsonValue, field = ""): string[] {
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

const isFile = (path: string) => stateOf(path) === "file";

/** Removes the `// comments` of settings templates, except inside strings. Line numbers do not change. */
export function stripJsonComments(text: string): string {
  let stripped = "";
  let from = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const sign = text[i];
    if (inString) {
      if (sign === "\\") i++;
      else if (sign === '"') inString = false;
    } else if (sign === '"') inString = true;
    else if (sign === "/" && text[i + 1] === "/") {
      stripped += text.slice(from, i);
      const end = text.indexOf("\n", i);
      from = i = end === -1 ? text.length : end;
    }
  }
  return stripped + text.slice(from);
}

/**
 * Prefix of variables: `ART_E_ACCOUNT_SNOWFLAKE_PASSWORD` sets `password` in `snowflake/settings.json`, in any case.
 */
export const ACCOUNT_PREFIX = "ART_E_ACCOUNT_";

/** Returns the fields of an account's `settings.json` that variables set. `names` are the template's field names. */
function fieldsFromEnvironment(
  name: string,
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const vendor = /^([^/]+)\/settings\.json$/.exec(name)?.[1];
  if (vendor === undefined) return {};
  const prefix = `${ACCOUNT_PREFIX}${variableWord(vendor)}_`;
  const spelling = new Map(names.map((field) => [variableWord(field), field]));
  return Object.fromEntries(
    Object.entries(env).flatMap(([variable, value]) => {
      if (!variable.startsWith(prefix) || value === undefined) return [];
      const word = variable.slice(prefix.length);
      return [[spelling.get(word) ?? word.toLowerCase(), value]];
    }),
  );
}

/** Returns `DBT_CLOUD` for `dbt-cloud`. */
const variableWord = (text: string) => text.toUpperCase().replace(/[^A-Z0-9]/g, "_");
