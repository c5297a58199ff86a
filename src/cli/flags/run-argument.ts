// Every command that takes runs accepts them as its first argument, RUN or RUNS, and as --run.
import { UserError } from "../../platform/errors.js";
import { type Flags, lastRepeated } from "../command.js";

type Argv = Readonly<Record<string, unknown>>;

/** Returns the names of the arguments in a usage, such as `id` and `new_id` in `agents clone <id> <new_id>`. */
export function argumentNames(usage: string): string[] {
  return [...usage.matchAll(/[<[](\w+)/g)].map(([, name = ""]) => name);
}

/** Returns `run` or `runs` if that is the first argument in the usage. */
function runArgument(usage: string): "run" | "runs" | null {
  const [first] = argumentNames(usage);
  return first === "run" || first === "runs" ? first : null;
}

/** Returns the flag `--run` for a usage with a run argument, otherwise no flag. */
export function runFlag(usage: string): Flags {
  const name = runArgument(usage);
  if (name === null) return {};
  const flag = { type: "string", requiresArg: true, placeholder: "RUN", completes: "runs" } as const;
  return name === "run"
    ? { run: { ...flag, coerce: lastRepeated, describe: "Same as RUN" } }
    : { run: { ...flag, describe: "Same as RUNS (repeatable)" } };
}

/** The name under which the parser stores an argument. It stores arguments and flags of the same name as one value. */
export function parsedName(name: string, usage: string): string {
  return name === runArgument(usage) ? `${name}_argument` : name;
}

/** Returns the usage for the parser. With `--run`, the arguments after RUN come first, so that any can be missing. */
export function parsedUsage(usage: string): string {
  if (runArgument(usage) === null) return usage;
  return usage.replace(/[<[](\w+)(\.\.)?[>\]]/g, (_, name: string, many = "") => `[${parsedName(name, usage)}${many}]`);
}

/** Combines the run argument and `--run`. Throws a UserError if they differ, or if a required argument is missing. */
export function withRunArgument(usage: string, argv: Argv): Argv {
  const name = runArgument(usage);
  if (name === null) return argv;
  const words = argumentNames(usage).flatMap((each) => (argv[parsedName(each, usage)] ?? []) as string | string[]);
  const flag = [argv.run ?? []].flat() as string[];
  const values = name === "runs" ? severalRuns(words, flag) : oneRunAndOthers(usage, words, flag[0]);
  const { run: _, ...others } = argv;
  const complete: Argv = { ...others, ...values };
  const missing = [...usage.matchAll(/<(\w+)/g)]
    .map(([, required = ""]) => required)
    .filter((required) => [complete[required] ?? []].flat().length === 0);
  if (missing.length === 0) return complete;
  const path = usage.replace(/ [<[].*$/, "");
  const names = missing.map((each) => each.toUpperCase());
  throw new UserError("usage", `${path}: ${areRequired(names)}`, `See art-e ${path} --help.`);
}

/** Returns the sentence about missing arguments or flags, such as `ID and NEW_ID are required.` */
export function areRequired(names: readonly string[]): string {
  return `${names.join(" and ")} ${names.length === 1 ? "is" : "are"} required.`;
}

function severalRuns(words: readonly string[], flag: readonly string[]): Argv {
  if (words.length > 0 && flag.length > 0 && words.join("\0") !== flag.join("\0")) {
    throw differentRuns("RUNS", words, flag);
  }
  return { runs: flag.length > 0 ? flag : words };
}

/** Assigns the words to RUN and the arguments after it, or only to those if `--run` names the run. */
function oneRunAndOthers(usage: string, words: readonly string[], flag: string | undefined): Argv {
  const [, ...others] = argumentNames(usage);
  const isList = usage.includes("..");
  // With a list of tags, every word is a tag, unless the run is given twice.
  const startsWithRun = flag === undefined || (isList ? words[0] === flag : words.length > others.length);
  const [first, ...rest] = startsWithRun ? words : [flag, ...words];
  if (flag !== undefined && first !== undefined && first !== flag) throw differentRuns("RUN", [first], [flag]);
  const assigned = others.map((name, i) => [name, isList && i === others.length - 1 ? rest.slice(i) : rest[i]]);
  return { run: flag ?? first, ...Object.fromEntries(assigned) };
}

/** Returns the error for an argument and `--run` that name different runs. */
export function differentRuns(name: string, words: readonly string[], flag: readonly string[]): UserError {
  return new UserError(
    "flags_contradict",
    `${name} (${words.join(", ")}) and --run (${flag.join(", ")}) differ.`,
    "Pass one of them.",
  );
}
