import { type Command, type Flags, nameOf, type TableEntry } from "./command.js";

/** The scripts of `art-e completion` call the program with this, and the words typed so far. */
export const COMPLETE = "--complete-words";

/** What stands in the place of a value, by what it names. */
export interface KnownValues {
  agents(): readonly string[];
  runs(): readonly string[];
}

/** Flags and arguments that name an agent or a run. */
const VALUES: Readonly<Record<string, keyof KnownValues>> = {
  agent: "agents",
  run: "runs",
  runs: "runs",
  resume: "runs",
  repeat: "runs",
  replay: "runs",
  baseline: "runs",
};

/**
 * What the last of `words` may become: commands, flags, ids. `words` are those after the program's name; the last one
 * is being typed and may be empty. Nothing where any word will do, so that the shell offers files.
 */
export async function completeWords(
  words: readonly string[],
  table: readonly TableEntry[],
  globalFlags: Flags,
  values: KnownValues,
): Promise<string[]> {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const found = await candidates(before, current, table, globalFlags, values);
  return found.filter((candidate) => candidate.startsWith(current)).sort();
}

async function candidates(
  before: readonly string[],
  current: string,
  table: readonly TableEntry[],
  globalFlags: Flags,
  values: KnownValues,
): Promise<readonly string[]> {
  const path = findEntry(positionalWords(before, globalFlags), table);
  const entry = path.at(-1);
  if (entry === undefined) return current.startsWith("-") ? written(globalFlags) : table.map(nameOf);
  if (!("load" in entry)) return entry.subcommands.map(nameOf);
  const command = await entry.load();
  const flags = { ...command.flags, ...globalFlags };
  const flag = findFlag(before.at(-1) ?? "", flags);
  if (flag !== undefined && flags[flag]?.type !== "boolean") return valuesOf(flag, values);
  if (current.startsWith("-")) return written(flags).filter((name) => !before.includes(name));
  const given = positionalWords(before, flags).slice(path.length);
  return positionalValues(command, nameOf(path[0] ?? entry), given.length, values);
}

/** Without flags and their values. */
function positionalWords(words: readonly string[], flags: Flags): string[] {
  return words.filter((word, i) => {
    const flag = findFlag(words[i - 1] ?? "", flags);
    return !word.startsWith("-") && (flag === undefined || flags[flag]?.type === "boolean");
  });
}

/** The entries that the words name, as far as they go: a command, or a group and its subcommand. */
function findEntry([first, second]: readonly string[], table: readonly TableEntry[]): TableEntry[] {
  const entry = table.find((each) => nameOf(each) === first);
  if (entry === undefined) return [];
  const sub = "load" in entry ? undefined : entry.subcommands.find((each) => nameOf(each) === second);
  return sub === undefined ? [entry] : [entry, sub];
}

/** The name of a flag, by its name or its alias; undefined: the word is none. */
function findFlag(word: string, flags: Flags): string | undefined {
  if (!word.startsWith("-")) return undefined;
  const name = word.replace(/^--?/, "");
  return Object.keys(flags).find((each) => each === name || flags[each]?.alias === name);
}

function written(flags: Flags): string[] {
  return Object.keys(flags).map((name) => `--${name}`);
}

function valuesOf(name: string, values: KnownValues): readonly string[] {
  const kind = VALUES[name];
  return kind === undefined ? [] : values[kind]();
}

/** The id of an agent is called `id` in the group of agents. */
function positionalValues(
  { positionals = {} }: Command,
  group: string,
  given: number,
  values: KnownValues,
): readonly string[] {
  const [name = ""] = Object.keys(positionals);
  if (given > 0 && positionals[name]?.array !== true) return [];
  return name === "id" && group === "agents" ? values.agents() : valuesOf(name, values);
}
