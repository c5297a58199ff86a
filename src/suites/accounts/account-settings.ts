import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { UserError } from "../../domain/errors.js";
import type { JsonValue } from "../../domain/json.js";
import { fileStateOf } from "../definition/file-in-folder.js";
import { isJsonObject } from "../definition/is-json-object.js";
import { findPlaceholders, readSettings, TEMPLATE_ENDING } from "../definition/settings/settings-file.js";
import type { SuiteFolder } from "../definition/suite-folder.js";
import { fieldsFromEnvironment } from "./account-environment.js";
import { secretForms, textsOf } from "./secret-values.js";

const MAX_BYTES = 100_000;

export type AccountFile = { readonly text: string } | { readonly missing: string };

/**
 * What users fill in for tasks that take an account: files of a folder of their own or of the suite's `settings/`, and
 * variables, which go before the fields of files.
 */
export class AccountSettings {
  #secrets: readonly string[] | null = null;
  /** The user's own folder first, whose files may be links. */
  readonly #folders: readonly { readonly path: string; readonly isOwn: boolean }[];

  constructor(
    suite: SuiteFolder,
    folder: string | null,
    private readonly env: Readonly<Record<string, string | undefined>>,
  ) {
    if (folder !== null && !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
      throw new UserError(
        "accounts_missing",
        `--account-settings: ${folder} is no folder.`,
        "Name one that holds files such as snowflake/settings.json.",
      );
    }
    this.#folders = [
      ...(folder === null ? [] : [{ path: folder, isOwn: true }]),
      { path: join(suite.content, "settings"), isOwn: false },
    ];
  }

  /** The contents of a file such as `snowflake/settings.json`, or why there are none. */
  read(name: string): AccountFile {
    const file = this.#find(name);
    if (file !== null && !name.endsWith(".json")) return { text: readFileSync(file, "utf8") };
    const value = this.#merge(name, file);
    if (value === undefined) {
      return { missing: file === null ? `settings/${name} is missing` : `settings/${name} is not JSON` };
    }
    const fields = findPlaceholders(value);
    if (fields.length > 0) return { missing: `settings/${name} is not filled in: ${fields.join(", ")}` };
    return { text: `${JSON.stringify(value, null, 4)}\n` };
  }

  /** What must not be shown: all values that are filled in, and these as they are often written. */
  secrets(): readonly string[] {
    this.#secrets ??= secretForms(this.#names().flatMap((name) => this.#valuesOf(name)));
    return this.#secrets;
  }

  /** A file with the fields of variables; these alone where there is a template only. */
  #merge(name: string, file: string | null): JsonValue | undefined {
    const template = this.#find(name + TEMPLATE_ENDING);
    const pattern = template === null ? undefined : readSettings(template);
    const names = Object.keys(isJsonObject(pattern) ? pattern : {});
    const fields = fieldsFromEnvironment(name, names, this.env);
    const below = file === null ? pattern : readSettings(file);
    if (Object.keys(fields).length === 0) return file === null ? undefined : below;
    return { ...(isJsonObject(below) ? below : {}), ...fields };
  }

  /** Of a template a filled-in file may keep some values, which are public. */
  #valuesOf(name: string): string[] {
    const template = this.#find(name + TEMPLATE_ENDING);
    const known = new Set(template === null ? [] : textsOf(readSettings(template)));
    return textsOf(this.#merge(name, this.#find(name))).filter((text) => !known.has(text));
  }

  #find(name: string): string | null {
    for (const { path, isOwn } of this.#folders) {
      const state = fileStateOf(path, name);
      if (state !== "file" && !(isOwn && state === "link")) continue;
      const file = join(path, name);
      const stats = statSync(file, { throwIfNoEntry: false });
      if (stats?.isFile() && stats.size <= MAX_BYTES) return file;
    }
    return null;
  }

  /** The JSON files that are filled in, or that templates stand for. */
  #names(): string[] {
    const names = this.#folders.flatMap(({ path }) => {
      if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [];
      return readdirSync(path, { recursive: true, withFileTypes: true }).map(({ parentPath, name }) =>
        relative(path, join(parentPath, name.replace(/\.template$/, ""))),
      );
    });
    return [...new Set(names)].filter((name) => name.endsWith(".json"));
  }
}
