// How a run's conditions differ from those of ART-E's published figures. `--protocol art` sets every option that can
// match.
import type { RunHead } from "../analysis/paired-comparison.js";
import { flagName } from "../platform/command-line.js";
import { isJsonObject, type JsonValue } from "../platform/json.js";
import { compact } from "../platform/optional-values.js";
import { isScored } from "../traces/headline-score.js";
import { flagsWhere, RUN_FLAGS, type RunFlagName } from "./run-flags.js";

interface FlagDifference {
  readonly flag: RunFlagName;
  /** Path of the recorded value in the run. */
  readonly path: string;
  /** Undefined if the run does not have the setting. */
  readonly value: JsonValue | undefined;
  /** Undefined if the published runs left it at its default. */
  readonly published: string | number | boolean | undefined;
}

/** Describes each difference between a run's conditions and the published ones. */
export function publishedDifferences(run: RunHead): string[] {
  const { settings, scores, dataset } = run;
  const isJudged = isScored("judgeCorrect", scores) && isJsonObject(settings.judge as JsonValue);
  const differences = flagDifferences(run).filter(({ path }) => isJudged || !path.startsWith("settings.judge."));
  const isOtherTasks = ({ flag, path }: FlagDifference) => path.startsWith("settings.selection.") && !(flag in TEXTS);
  const selecting = differences.filter(isOtherTasks);
  const { artProtocol: limit } = RUN_FLAGS.limit;
  return compact([
    !isJudged && "no judge: the score next to the published accuracies is another one",
    isJudged &&
      (settings.judge as { readonly protocol?: unknown }).protocol !== "art" &&
      "judge with four verdicts, not True or False (--judge art)",
    ...differences.filter((difference) => !isOtherTasks(difference)).map(differenceText),
    dataset.revision === null && `questions from the file ${dataset.source}, possibly different ones`,
    selecting.length > 0 &&
      `not the first ${limit} questions (-l ${limit} without shuffling or other selection): ${selecting.map(plainText).join(", ")}`,
    settings.mailFilter !== "art" && "mail not imported through ART's filter (import --filter art)",
  ]);
}

/** Compares the recorded value of each flag that affects tasks or measurements. */
function flagDifferences(run: RunHead): FlagDifference[] {
  const byPath = new Map<string, FlagDifference>();
  for (const flag of flagsWhere(({ effect }) => effect !== "none")) {
    const { effect, artProtocol } = RUN_FLAGS[flag];
    if (effect === "none") continue;
    const path = effect.recordedAs === "selection" ? `settings.selection.${flag}` : effect.recordedAs;
    const published = effect.published ?? artProtocol;
    const value = valueAt(run as unknown as JsonValue, path);
    // Several flags can have one setting.
    if (published === "any" || byPath.has(path) || isSame(value, published)) continue;
    byPath.set(path, { flag, path, value, published });
  }
  return [...byPath.values()];
}

function valueAt(value: JsonValue | undefined, path: string): JsonValue | undefined {
  return path.split(".").reduce((at, key) => (isJsonObject(at) ? at[key] : undefined), value);
}

/** A model's name can have its provider in front. An option that is off or null is not set. */
function isSame(value: JsonValue | undefined, published: FlagDifference["published"]): boolean {
  if (published === undefined) return value === undefined || value === null || value === false;
  return value === published || (typeof value === "string" && value.endsWith(`/${published}`));
}

/** Texts that say more than the flag and the two values. */
const TEXTS: Partial<Record<RunFlagName, (value: JsonValue | undefined) => string>> = {
  agent: (value) => `agent ${value}, not art-e`,
  split: (value) => `the ${value} split`,
  maxSources: () => "includes questions with several gold emails (--max-sources 1 leaves them out)",
  excludeKnownBad: () => "includes known bad questions (--exclude-known-bad leaves them out)",
  cutoff: (value) =>
    value === undefined ? "unknown cutoff" : "mail after the question's date is invisible (--cutoff off shows it)",
  judge: (value) => `judge ${value}, not gemini-2.0-flash`,
  agentCommand: () => "an external agent, with its own prompt and tools",
};

function differenceText(difference: FlagDifference): string {
  return TEXTS[difference.flag]?.(difference.value) ?? plainText(difference);
}

function plainText({ flag, value, published = "the default" }: FlagDifference): string {
  const shown =
    value === undefined || value === null ? "unknown" : typeof value === "string" ? value : JSON.stringify(value);
  return `${flagName(flag)} ${shown}, not ${published}`;
}
