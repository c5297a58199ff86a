// Every command that takes runs or a mailbox accepts them as its first argument (RUN, RUNS, MAILBOX) or as a flag
// (--run, --inbox). Commands that only read accept neither: they take the newest run, or the only mailbox.
import { helpHint } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { type Flag, type Flags, lastRepeated, pathOf } from "../command.js";

type Argv = Readonly<Record<string, unknown>>;

const RUN_FLAG = { type: "string", requiresArg: true, placeholder: "RUN", completes: "runs" } as const;

/** Names of first arguments, each with the flag of the same meaning. */
const FLAGS_OF_ARGUMENTS = {
  run: { name: "run", flag: { ...RUN_FLAG, coerce: lastRepeated, describe: "Same as RUN" } },
  runs: { name: "run", flag: { ...RUN_FLAG, describe: "Same as RUNS (repeatable)" } },
  mailbox: {
    name: "inbox",
    flag: {
      type: "string",
      requiresArg: true,
      placeholder: "ADDRESS",
      completes: "mailboxes",
      coerce: lastRepeated,
      describe: "Same as MAILBOX",
    },
  },
} satisfies Readonly<Record<string, { readonly name: string; readonly flag: Flag }>>;

type FirstArgument = keyof typeof FLAGS_OF_ARGUMENTS;

/** Returns the names of the arguments in a usage, such as `id` and `new_id` in `agents clone <id> <new_id>`. */
export function argumentNames(usage: string): string[] {
  return [...usage.matchAll(/[<[](\w+)/g)].map(([, name = ""]) => name);
}

/** Returns the first argument in the usage if it can also be a flag. */
function firstArgument(usage: string): FirstArgument | null {
  const [first = ""] = argumentNames(usage);
  return first in FLAGS_OF_ARGUMENTS ? (first as FirstArgument) : null;
}

/** Returns the flag `--run` or `--inbox` for a usage with such an argument, otherwise no flag. */
export function firstArgumentFlag(usage: string): Flags {
  const argument = firstArgument(usage);
  if (argument === null) return {};
  const { name, flag } = FLAGS_OF_ARGUMENTS[argument];
  return { [name]: flag };
}

/** The name under which the parser stores an argument. It stores arguments and flags of the same name as one value. */
export function parsedName(name: string, usage: string): string {
  return name === firstArgument(usage) ? `${name}_argument` : name;
}

/** Returns the usage for the parser. With the flag, the other arguments come first, so that any can be missing. */
export function parsedUsage(usage: string): string {
  if (firstArgument(usage) === null) return usage;
  return usage.replace(/[<[](\w+)(\.\.)?[>\]]/g, (_, name: string, many = "") => `[${parsedName(name, usage)}${many}]`);
}

/**
 * Combines the first argument and its flag.
 * @throws UserError if they differ, or if a required argument is missing
 */
export function withFirstArgument(usage: string, argv: Argv): Argv {
  const name = firstArgument(usage);
  if (name === null) return argv;
  const flagName = FLAGS_OF_ARGUMENTS[name].name;
  const words = argumentNames(usage).flatMap((each) => (argv[parsedName(each, usage)] ?? []) as string | string[]);
  const flag = [argv[flagName] ?? []].flat() as string[];
  const values =
    name === "runs"
      ? severalRuns(words, flag)
      : firstAndOthers(name, usage, words, { flag: flag[0], remove: argv.remove === true });
  const { [flagName]: _, ...others } = argv;
  const complete: Argv = { ...others, ...values };
  const missing = [...usage.matchAll(/<(\w+)/g)]
    .map(([, required = ""]) => required)
    .filter((required) => [complete[required] ?? []].flat().length === 0);
  if (missing.length === 0) return complete;
  const path = pathOf(usage);
  const names = missing.map((each) => each.toUpperCase());
  throw new UserError("usage", `${path}: ${areRequired(names)}`, helpHint(path));
}

/** Returns the sentence about missing arguments or flags, such as `ID and NEW_ID are required.` */
export function areRequired(names: readonly string[]): string {
  return `${names.join(" and ")} ${names.length === 1 ? "is" : "are"} required.`;
}

function severalRuns(words: readonly string[], flag: readonly string[]): Argv {
  if (words.length > 0 && flag.length > 0 && words.join("\0") !== flag.join("\0")) {
    throw differentValues("RUNS", words, "--run", flag);
  }
  return { runs: flag.length > 0 ? flag : words };
}

/**
 * Assigns the words to the first argument and the later ones. The first argument gets no word if its flag is given or
 * a word is missing: `runs rename nightly` names the newest run. With --remove, the only word of `runs rename` is the
 * run. Words after a mailbox stay together with it, because the database decides whether the first word is a mailbox
 * (`mailboxAndWords`).
 */
function firstAndOthers(
  name: Exclude<FirstArgument, "runs">,
  usage: string,
  words: readonly string[],
  { flag, remove }: { readonly flag: string | undefined; readonly remove: boolean },
): Argv {
  const [, ...others] = argumentNames(usage);
  const isList = usage.includes("..");
  // With a list of tags, every word is a tag, unless the run is given twice.
  const isComplete = words.length > others.length || (remove && !isList);
  const isFirstGiven =
    flag === undefined
      ? isComplete && !(isList && name === "mailbox")
      : isList
        ? words[0] === flag
        : words.length > others.length;
  const [first, ...rest] = isFirstGiven ? words : [flag, ...words];
  if (flag !== undefined && first !== undefined && first !== flag) {
    throw differentValues(name.toUpperCase(), [first], `--${FLAGS_OF_ARGUMENTS[name].name}`, [flag]);
  }
  const assigned = others.map((each, i) => [each, isList && i === others.length - 1 ? rest.slice(i) : rest[i]]);
  return { [name]: flag ?? first, ...Object.fromEntries(assigned) };
}

/** Returns the error for an argument and its flag with different values. */
export function differentValues(
  argument: string,
  words: readonly string[],
  flag: string,
  values: readonly string[],
): UserError {
  return new UserError(
    "flags_contradict",
    `${argument} (${words.join(", ")}) and ${flag} (${values.join(", ")}) differ.`,
    "Pass one of them.",
  );
}
