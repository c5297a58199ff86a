import wrapAnsi from "wrap-ansi";
import { compact } from "../../platform/optional-values.js";
import {
  type Command,
  type CommandGroup,
  type Flag,
  type Flags,
  GLOBAL_FLAGS,
  nameOf,
  type TableEntry,
} from "../command.js";
import { EXAMPLES, type Example } from "./examples.js";

/** Renders the `--help` pages of the program, of command groups and of commands. */

/** Two columns: terms and their explanations. */
interface Section {
  readonly title: string;
  readonly rows: readonly (readonly [term: string, explanation: string])[];
}

const TAGLINE = "Measures how well an agent answers questions from a person's mailbox (the ART-E benchmark).";

export const EXIT_CODES =
  "Exit codes: 0 success, 1 failure, 2 wrong usage or unusable input, 3 a missed gate or more than half of the tasks failed, 130 interrupted.";

export function programHelp(table: readonly TableEntry[], columns: number): string {
  const sections = [
    { title: "Commands", rows: table.map((entry): [string, string] => [entry.usage, entry.describe]) },
    {
      title: "Global flags",
      rows: [
        ...flagRows(GLOBAL_FLAGS),
        ["-h, --help", "Show help"] as const,
        ["-v, --version", "Show the version number"] as const,
      ],
    },
  ];
  return page("art-e COMMAND", TAGLINE, EXAMPLES[""] ?? [], sections, columns, [wrapAnsi(EXIT_CODES, columns)]);
}

export function groupHelp(group: CommandGroup, columns: number): string {
  const name = nameOf(group);
  const rows = group.subcommands.map((entry): [string, string] => [`${name} ${entry.usage}`, entry.describe]);
  const sections = [{ title: "Commands", rows }];
  return page(`art-e ${name} COMMAND`, group.describe, EXAMPLES[name] ?? [], sections, columns, [globalFlags(columns)]);
}

/** @param usage name and arguments of the command, such as `agents show [id]` */
export function commandHelp(usage: string, describe: string, command: Command, columns: number): string {
  const args = Object.entries(command.positionals ?? {}).map(([name, options]): [string, string] => [
    name.toUpperCase(),
    options.describe ?? "",
  ]);
  const sections = compact([
    args.length > 0 && { title: "Arguments", rows: args },
    ...groupFlags(command).map(({ title, flags }) => ({ title, rows: flagRows(flags) })),
  ]);
  const examples = EXAMPLES[usage.replace(/ [<[].*$/, "")] ?? [];
  return page(`art-e ${usage}`, describe, examples, sections, columns, [globalFlags(columns)]);
}

interface FlagGroup {
  readonly title: string;
  readonly flags: Flags;
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
    `${namesOf(name, flag)}${placeholderOf(name, flag)}`,
    explanationOf(flag),
  ]);
}

/** Returns a flag's names, such as `-l, --limit`. Flags without a short name are aligned with the others. */
function namesOf(name: string, { alias = [] }: Flag): string {
  const aliases = [alias].flat();
  const short = aliases.find((each) => each.length === 1);
  const long = [name, ...aliases.filter((each) => each.length > 1)].map((each) => `--${each}`);
  return `${short === undefined ? "   " : `-${short},`} ${long.join(", ")}`;
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
