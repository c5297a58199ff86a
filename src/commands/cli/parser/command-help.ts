import type { CommandHelp, Flags } from "../command.js";

export interface FlagGroup {
  readonly title: string;
  readonly flags: Flags;
}

/** The flags of a command by group; those that are in none come last. */
export function groupFlags({ groups }: CommandHelp, flags: Flags): readonly FlagGroup[] {
  const grouped = new Set(Object.values(groups).flat());
  const others = Object.keys(flags).filter((name) => !grouped.has(name));
  return [...Object.entries(groups), ["Other", others] as const]
    .map(([title, names]) => ({
      title,
      flags: Object.fromEntries(names.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]]))),
    }))
    .filter((group) => Object.keys(group.flags).length > 0);
}

/** What stands for the value of a flag, with a space before it: ` FILE`, ` N`; empty for one that takes none. */
export function placeholderOf(name: string, { type }: Flags[string], help?: CommandHelp): string {
  if (type === "boolean") return "";
  return ` ${help?.placeholders[name] ?? (type === "number" ? "N" : "VALUE")}`;
}

/** Usage, flags in groups with placeholders, and examples, at most so many columns wide. */
export function commandHelp(usage: string, describe: string, flags: Flags, help: CommandHelp, columns: number): string {
  const groups = groupFlags(help, flags).map(({ title, flags: own }) => ({
    title,
    rows: Object.entries(own).map(([name, options]) => [written(name, options, help), options.describe ?? ""] as const),
  }));
  const width = Math.max(...groups.flatMap(({ rows }) => rows.map(([flag]) => flag.length)));
  const room = Math.max(20, columns - width - 4);
  const sections = groups.map(({ title, rows }) =>
    [
      `${title}:`,
      ...rows.map(([flag, text]) => `  ${flag.padEnd(width)}  ${wrap(text, room).join(`\n${" ".repeat(width + 4)}`)}`),
    ].join("\n"),
  );
  const examples = help.examples.map(([line, what]) => `  # ${what}\n  ${line}`).join("\n");
  return [`art-e ${usage}`, describe, `Examples:\n${examples}`, ...sections].join("\n\n");
}

/** `-l, --limit N`, in line with flags that have no short form. */
function written(name: string, options: Flags[string], help: CommandHelp): string {
  const aliases = [options.alias ?? []].flat();
  const short = aliases.find((alias) => alias.length === 1);
  const long = [name, ...aliases.filter((alias) => alias.length > 1)].map((each) => `--${each}`);
  return `${short === undefined ? "   " : `-${short},`} ${long.join(", ")}${placeholderOf(name, options, help)}`;
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
