// Renders the `--help` pages of the program, of command groups and of commands.
import wrapAnsi from "wrap-ansi";
import { compact } from "../../platform/optional-values.js";
import {
  type Command,
  type CommandGroup,
  type CommandSection,
  type Flag,
  type Flags,
  GLOBAL_FLAGS,
  nameOf,
  pathOf,
} from "../command.js";
import { EXAMPLES, type Example } from "./examples.js";

/** Two columns: terms and their explanations. */
interface Section {
  readonly title: string;
  readonly rows: readonly (readonly [term: string, explanation: string])[];
}

interface FlagGroup {
  readonly title: string;
  readonly flags: Flags;
}

const TAGLINE = "Measures how well an agent answers questions from a person's mailbox (the ART-E benchmark).";

export const EXIT_CODES =
  "Exit codes: 0 success, 1 failure, 2 wrong usage or unusable input, 3 a missed gate or more than half of the tasks failed, 130 interrupted.";

/** @param all whether to include rare commands */
export function programHelp(table: readonly CommandSection[], all: boolean, columns: number): string {
  const listed = ({ common, rare }: CommandSection) => (all ? [...common, ...rare] : common);
  const rare = all ? [] : table.flatMap((section) => section.rare.map(nameOf));
  const sections = [
    ...table.map((section) => ({
      title: section.title,
      rows: listed(section).map((entry): [string, string] => [entry.usage, entry.describe]),
    })),
    {
      title: "Global flags",
      rows: [
        ...flagRows(GLOBAL_FLAGS),
        ["-h, --help", "Show help (--help all: with everything that is rarely needed)"] as const,
        ["-v, --version", "Show the version number"] as const,
      ],
    },
  ];
  const last = [rare.length > 0 && `More commands: ${rare.join(", ")}. See art-e --help all.`, EXIT_CODES];
  const paragraphs = compact(last).map((text) => wrapAnsi(text, columns));
  return page("art-e COMMAND", TAGLINE, EXAMPLES[""] ?? [], sections, columns, paragraphs);
}

export function groupHelp(group: CommandGroup, columns: number): string {
  const name = nameOf(group);
  const rows = group.subcommands.map((entry): [string, string] => [`${name} ${entry.usage}`, entry.describe]);
  const sections = [{ title: "Commands", rows }];
  return page(`art-e ${name} COMMAND`, group.describe, EXAMPLES[name] ?? [], sections, columns, [globalFlags(columns)]);
}

/** Which flags a help page lists if the command has many. */
export interface ShownFlags {
  /** Whether to list all flags. */
  readonly all: boolean;
  /** The command line. Groups from which it has a flag are listed in full. */
  readonly args: readonly string[];
}

/** @param usage name and arguments of the command, such as `agents show [id]` */
export function commandHelp(
  usage: string,
  describe: string,
  command: Command,
  shown: ShownFlags,
  columns: number,
): string {
  const args = Object.entries(command.positionals ?? {}).map(([name, options]): [string, string] => [
    name.toUpperCase(),
    options.describe ?? "",
  ]);
  const groups = groupFlags(command);
  const listed = groups.map((group) => ({ ...group, flags: listedFlags(group, command, shown) }));
  const sections = compact([
    args.length > 0 && { title: "Arguments", rows: args },
    ...listed.map(({ title, flags }) => Object.keys(flags).length > 0 && { title, rows: flagRows(flags) }),
  ]);
  const path = pathOf(usage);
  const left = countFlags(groups) - countFlags(listed);
  const more = `${left} more flags: art-e ${path} --help all. A flag in front of --help shows all of its group.`;
  const last = compact([left > 0 && wrapAnsi(more, columns), globalFlags(columns)]);
  return page(`art-e ${usage}`, describe, EXAMPLES[path] ?? [], sections, columns, last);
}

function listedFlags({ flags }: FlagGroup, { commonFlags }: Command, { all, args }: ShownFlags): Flags {
  const isGiven = ([name, flag]: [string, Flag]) => namesOf(name, flag).some((each) => args.includes(each));
  const entries = Object.entries(flags);
  if (all || commonFlags === undefined || entries.some(isGiven)) return flags;
  return Object.fromEntries(entries.filter(([name]) => commonFlags.includes(name)));
}

function countFlags(groups: readonly FlagGroup[]): number {
  return groups.reduce((sum, { flags }) => sum + Object.keys(flags).length, 0);
}

/** Groups a command's flags. Flags without a group come last. */
export function groupFlags({ flags, flagGroups = {} }: Command): readonly FlagGroup[] {
  const grouped = new Set(Object.values(flagGroups).flat());
  const others = Object.keys(flags).filter((name) => !grouped.has(name));
  return [...Object.entries(flagGroups), ["Flags", others] as const]
    .map(([title, names]) => ({
      title,
      flags: Object.fromEntries(names.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]]))),
    }))
    .filter((group) => Object.keys(group.flags).length > 0);
}

/** Returns a flag's placeholder with a leading space, such as ` FILE`, or an empty string for a boolean flag. */
export function placeholderOf(name: string, { type, placeholder }: Flag): string {
  if (type === "boolean") return "";
  return ` ${placeholder ?? (type === "number" ? "N" : (name.split("-").at(-1) ?? "").toUpperCase())}`;
}

/** Returns a flag's description, with a note if the flag is required. */
export function explanationOf({ describe = "", demandOption }: Flag): string {
  return demandOption === true ? `${describe} (required)` : describe;
}

function flagRows(flags: Flags): (readonly [string, string])[] {
  return Object.entries(flags).map(([name, flag]) => [
    `${namesColumn(name, flag)}${placeholderOf(name, flag)}`,
    explanationOf(flag),
  ]);
}

/** Returns a flag's names for a help page, such as `-l, --limit`. Those without a short name are indented. */
function namesColumn(name: string, flag: Flag): string {
  const names = namesOf(name, flag);
  const short = names.find((each) => each.length === 2);
  const long = names.filter((each) => each.length > 2);
  return `${short === undefined ? "   " : `${short},`} ${long.join(", ")}`;
}

/** Returns a flag's names as typed, such as `--limit` and `-l`. */
function namesOf(name: string, { alias = [] }: Flag): string[] {
  return [name, ...[alias].flat()].map((each) => (each.length === 1 ? `-${each}` : `--${each}`));
}

function globalFlags(columns: number): string {
  const flags = Object.entries(GLOBAL_FLAGS).map(([name, flag]) => `--${name}${placeholderOf(name, flag)}`);
  return wrapAnsi(`Global flags: ${flags.join(", ")}. See art-e --help.`, columns);
}

function page(
  usage: string,
  describe: string,
  examples: readonly Example[],
  sections: readonly Section[],
  columns: number,
  last: readonly string[],
): string {
  const width = Math.max(0, ...sections.flatMap(({ rows }) => rows.map(([term]) => term.length)));
  const parts = sections.map(({ title, rows }) => [`${title}:`, ...rows.map((row) => definition(row, width, columns))]);
  const text = examples.map(([line, comment]) => `  # ${comment}\n  ${line}`).join("\n");
  return compact([
    usage,
    wrapAnsi(describe, columns),
    examples.length > 0 && `Examples:\n${text}`,
    ...parts.map((lines) => lines.join("\n")),
    ...last,
  ]).join("\n\n");
}

/** If a term is wider than this, its explanation starts on the next line. */
const MAX_TERM_COLUMNS = 34;

function definition([term, explanation]: readonly [string, string], widest: number, columns: number): string {
  const width = Math.min(widest, MAX_TERM_COLUMNS);
  const indent = " ".repeat(width + 4);
  const lines = wrapAnsi(explanation, Math.max(20, columns - width - 4)).replaceAll("\n", `\n${indent}`);
  return term.length > width ? `  ${term}\n${indent}${lines}` : `  ${term.padEnd(width)}  ${lines}`;
}
