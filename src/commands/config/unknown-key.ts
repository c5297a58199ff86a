import { UserError } from "../../domain/errors.js";
import { flagName } from "../../platform/flag-name.js";
import { didYouMean } from "../../platform/nearest-names.js";
import { RUN_FLAGS } from "../run/run-flags.js";
import type { ConfigField } from "./config-field.js";
import { SECTIONS } from "./config-sections.js";
import { isSecretName, secretInFile } from "./refuse-secrets.js";

interface UnknownKey {
  readonly path: string;
  readonly line: number | undefined;
  /** Of the section, or empty for a section itself; `runs` and a name before it in what a run has of its own. */
  readonly parents: readonly string[];
  readonly key: string;
}

/** The error for a key that is no setting, with what was probably meant. */
export function unknownKeyError({ path, line, parents, key }: UnknownKey): UserError {
  const at = `${path}:${line ?? 1}`;
  const isOfRun = parents[0] === "runs";
  const [section, ...below] = isOfRun ? parents.slice(2) : parents;
  const fields = fieldsOf(section);
  const known = below.length > 0 ? [] : Object.keys(fields ?? SECTIONS);
  const meant = probablyMeant(key, section, section === undefined && !isOfRun ? [...known, ...OF_FILE] : known);
  if (meant === "" && isSecretName(key)) return secretInFile(`${at}: ${key}`);
  const holder = section === undefined && !isOfRun ? "There is" : `${parents.join(".")} has`;
  const what = `${holder} no ${section === undefined ? "section" : "setting"}`;
  const takes = known.length === 0 ? "" : `${section ?? (isOfRun ? "A run" : "The file")} takes ${known.join(", ")}.`;
  return new UserError("config_invalid", `${at}: ${what} ${key}.`, `${meant}${takes}`.trim());
}

/** What stands beside the sections. */
const OF_FILE = ["database", "runs"];

/** By its name in another section, by its flag, or by the nearest name in this section. */
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
  return word in RUN_FLAGS ? `--${word} is for the command line only. ` : "";
}

function fieldsOf(section: string | undefined): Readonly<Record<string, ConfigField>> | undefined {
  return section === undefined ? undefined : (SECTIONS as Record<string, Record<string, ConfigField>>)[section];
}
