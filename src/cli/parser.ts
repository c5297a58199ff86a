// Parses a command line with yargs and formats errors for the user.
import yargs, { type Argv, type Options, type PositionalOptions } from "yargs";
import { Interrupted } from "../platform/app-context.js";
import { commandLine, helpHint } from "../platform/command-line.js";
import { EXIT, type ExitCode, messageOf, reasonOf, UserError } from "../platform/errors.js";
import { didYouMean } from "../platform/near-names.js";
import { compact, presentProperties } from "../platform/optional-values.js";
import { programVersion } from "../platform/program-files.js";
import { toWellFormedJson } from "../platform/well-formed-json.js";
import {
  type Argument,
  type Command,
  type CommandEntry,
  type CommandGroup,
  type CommandSection,
  type Flag,
  GLOBAL_FLAGS,
  lastRepeated,
  nameOf,
  pathOf,
  writtenFlags,
} from "./command.js";
import { MISSING_COMMANDS } from "./command-table.js";
import { areRequired, parsedName, parsedUsage, withFirstArgument } from "./flags/first-argument.js";

/** Runs the parsed command with its unchecked arguments. */
type Execute = (command: Command, argv: Readonly<Record<string, unknown>>) => Promise<void>;

interface Parser {
  /** Parses the command line and executes its command. */
  parse(): Promise<void>;
  /** Rewrites a parser error for the user. Returns any other error unchanged. */
  explain(error: unknown): unknown;
}

const NO_COMMAND = "No command given.";

type HelpText = typeof import("./help/help-text.js");

/** Output options for an error. */
interface ErrorForm {
  /** One line of JSON: `{"error": {"code", "message", "hint", "exitCode"}}`. */
  readonly json: boolean;
  /** Includes the stack. */
  readonly verbose: boolean;
}

interface Described {
  readonly code: string;
  readonly message: string;
  /** The next step for the user, or null if unknown. */
  readonly hint: string | null;
  readonly exitCode: ExitCode;
}

/** The called command, as far as the parser recognized it. */
interface CommandInUse {
  /** Usage such as `agents clone <id> <new-id>`. */
  readonly usage: string;
  /** True for a command that only has subcommands. */
  readonly isGroup?: boolean;
  /** Set for a subcommand. */
  readonly parent?: unknown;
  /** Accepted flags as typed, or the names of subcommands. */
  readonly known: readonly string[];
}

/** @param line arguments, in which `all` after `--help` asks for everything that is rarely needed */
export function buildParser(line: readonly string[], sections: readonly CommandSection[], execute: Execute): Parser {
  const { args, all } = withoutAll(line);
  const table = sections.flatMap(({ common, rare }) => [...common, ...rare]);
  // Builders run from the outer command to the inner one, so the last assignment is the called command.
  let inUse: CommandInUse | null = null;
  // Renders the help page of that command.
  let renderHelp = (text: HelpText, columns: number) => text.programHelp(sections, all, columns);
  const commands = table.map(nameOf);

  const addCommand = (parser: Argv, entry: CommandEntry, group?: CommandGroup): Argv => {
    const usage = group === undefined ? entry.usage : `${nameOf(group)} ${entry.usage}`;
    return parser.command(
      parsedUsage(entry.usage),
      entry.describe,
      async (sub) => {
        const command = await entry.load();
        inUse = { usage, parent: group, known: writtenFlags({ ...command.flags, ...GLOBAL_FLAGS }) };
        renderHelp = (text, columns) => text.commandHelp(usage, entry.describe, command, { all, args }, columns);
        return addFlags(command, usage, sub);
      },
      async (argv) => execute(await entry.load(), withFirstArgument(usage, argv)),
    );
  };

  const addGroup = (parser: Argv, group: CommandGroup): Argv =>
    parser.command(group.usage, group.describe, async (sub) => {
      inUse = { usage: group.usage, isGroup: true, known: group.subcommands.map(nameOf) };
      renderHelp = (text, columns) => text.groupHelp(group, columns);
      const loaded = await Promise.all(group.subcommands.map(({ load }) => load()));
      const withSubcommands = group.subcommands.reduce((rest, entry) => addCommand(rest, entry, group), sub);
      return hideBooleans(withSubcommands, loaded).demandCommand(1, `${group.usage}: a subcommand is required.`);
    });

  const parser = table.reduce(
    (rest, entry) => ("load" in entry ? addCommand(rest, entry) : addGroup(rest, entry)),
    globalParser(args),
  );
  renderNoUnusedHelp(parser);
  parser.fail((message, error) => {
    throw error ?? usageError(withoutMarks(message), args, inUse, commands);
  });
  return {
    async parse() {
      let output = "";
      const argv = await parser.parseAsync(markOperands(args), {}, (_error, _argv, text) => {
        output = text;
      });
      if (output === "") return;
      const isVersion = argv.version === true && argv.help !== true;
      const page = isVersion ? output : renderHelp(await import("./help/help-text.js"), helpColumns());
      process.stdout.write(`${page}\n`);
    },
    explain: (error) =>
      // If a flag's value is missing, the parser throws an exception, which does not reach `fail`.
      error instanceof Error && error.name === "YError" ? usageError(error.message, args, inUse, commands) : error,
  };
}

function withoutAll(args: readonly string[]): { args: readonly string[]; all: boolean } {
  const at = args.findIndex((arg, i) => arg === "all" && /^(--help|-h)$/.test(args[i - 1] ?? ""));
  return { args: args.filter((_, i) => i !== at), all: at !== -1 };
}

/**
 * Prevents the parser from rendering help for every command that it runs, for `getHelp`. This takes a tenth of a short
 * command's time.
 */
function renderNoUnusedHelp(parser: Argv): void {
  const { getInternalMethods } = parser as Argv & {
    getInternalMethods(): { getUsageInstance(): { cacheHelpMessage(): void } };
  };
  getInternalMethods.call(parser).getUsageInstance().cacheHelpMessage = () => undefined;
}

function helpColumns(): number {
  return Math.min(120, process.stdout.columns ?? 120);
}

function globalParser(args: readonly string[]): Argv {
  const flags = Object.entries(GLOBAL_FLAGS).map(([name, flag]) => [
    name,
    { ...parserOptions(flag), coerce: lastRepeated, global: true },
  ]);
  return yargs([...args])
    .scriptName("art-e")
    .options(Object.fromEntries(flags))
    .parserConfiguration(PARSER_CONFIGURATION)
    .strict()
    .demandCommand(1, NO_COMMAND)
    .help("help")
    .alias("help", "h")
    .version(programVersion())
    .alias("version", "v")
    .exitProcess(false)
    .showHelpOnFail(false);
}

/** Returns the printed text of an error and the program's exit code. */
export function formatError(error: unknown, { json, verbose }: ErrorForm): { text: string; exitCode: ExitCode } {
  const { code, message, hint, exitCode } = describe(error);
  const stack = verbose && code !== "interrupted" ? stackOf(error) : null;
  if (json) {
    const fields = { code, message, hint, exitCode, ...presentProperties({ stack }) };
    return { text: toWellFormedJson({ error: fields }), exitCode };
  }
  // The hint for a bug is to use --verbose, so it is redundant if the stack is shown.
  const more = stack !== null && code === "bug" ? [stack] : [hint && `       ${hint}`, stack];
  return { text: [`art-e: ${message}`, ...more.filter((line) => line)].join("\n"), exitCode };
}

function describe(error: unknown): Described {
  if (error instanceof Interrupted) {
    return { code: "interrupted", message: error.message, hint: null, exitCode: EXIT.interrupted };
  }
  if (error instanceof UserError) {
    const { code, message, hint, exitCode } = error;
    // A message that ends with a cause ends without a full stop.
    return { code, message: /[.!?]["')]?$/.test(message) ? message : `${message}.`, hint, exitCode };
  }
  if (error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE")) {
    const hint = "Allow more (ulimit -n 4096), or run fewer tasks at the same time (--concurrency).";
    return {
      code: "too_many_open_files",
      message: `Too many open files: ${error.message}.`,
      hint,
      exitCode: EXIT.failed,
    };
  }
  if (error instanceof Error && "path" in error && "code" in error && ACCESS_CODES.has(String(error.code))) {
    return {
      code: "access_denied",
      message: `Cannot access ${error.path}: ${reasonOf(error)}.`,
      hint: "Change its permissions, or pass another path.",
      exitCode: EXIT.usage,
    };
  }
  const message = messageOf(error);
  const hint = "This is a bug in art-e. Run it again with --verbose for the details.";
  return { code: "bug", message, hint, exitCode: EXIT.failed };
}

/** System errors about the permissions of a path, which can be a part of a folder that the user passed. */
const ACCESS_CODES: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS"]);

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}

/**
 * Converts a parser message into a UserError. Flags are named as the user typed them, with a suggestion. `commands`
 * contains all command names.
 */
function usageError(
  complaint: string,
  args: readonly string[],
  inUse: CommandInUse | null,
  commands: readonly string[],
): UserError {
  const path = inUse === null ? null : pathOf(inUse.usage);
  const line = complaint
    .split("\n")
    .map((part) => part.trim())
    .join(" ")
    .trim();
  // A flag can have the name of the command, as in `queue list --queue URL`.
  const words = unknownWords(
    line,
    args.filter((arg) => path?.split(" ").includes(arg) !== true),
  );
  const help = helpHint(path ?? "");
  const replacement = MISSING_COMMANDS.get(compact([path, words?.[0]]).join(" "));
  if (replacement !== undefined) return new UserError("usage", reword(line, words, inUse, path), replacement());
  const isGlobal = writtenFlags(GLOBAL_FLAGS).includes(args[0]?.replace(/=.*/s, "") ?? "");
  if (line === NO_COMMAND && args[0]?.startsWith("-") && !isGlobal) {
    return new UserError("usage", NO_COMMAND, `To run the benchmark: ${commandLine`art-e run ${args}`}. ${help}`);
  }
  const near = words === null ? "" : didYouMean(words[0] ?? "", inUse?.known ?? commands);
  return new UserError("usage", reword(line, words, inUse, path), `${near}${help}`);
}

/** Returns the words that the parser did not recognize, as typed, or null if the message is about something else. */
function unknownWords(line: string, args: readonly string[]): readonly string[] | null {
  const [, unknown] = /^Unknown arguments?: (.+)$/.exec(line) ?? [];
  return unknown === undefined ? null : asWritten(unknown.split(", "), args);
}

function reword(
  line: string,
  words: readonly string[] | null,
  inUse: CommandInUse | null,
  path: string | null,
): string {
  if (words !== null) {
    const isFlag = words[0]?.startsWith("-") ?? false;
    if (!isFlag && (inUse === null || inUse.isGroup)) return `Unknown command: ${[path, words[0]].join(" ").trim()}.`;
    if (inUse?.parent !== undefined) {
      return `${path} does not take ${isFlag ? words.join(", ") : words.map((word) => `"${word}"`).join(", ")}.`;
    }
    return `Unknown ${isFlag ? "flag" : "argument"}: ${words.join(", ")}.`;
  }
  const [, flag] = /^Not enough arguments following: (.+)$/.exec(line) ?? [];
  if (flag !== undefined) return `${flag.length === 1 ? "-" : "--"}${flag}: a value is required.`;
  const [, missing] = /^Missing required arguments?: (.+)$/.exec(line) ?? [];
  if (missing !== undefined) {
    const flags = missing.split(", ").map((name) => `--${name}`);
    return areRequired(flags);
  }
  const [, count] = /^Not enough non-option arguments: got (\d+)/.exec(line) ?? [];
  if (count !== undefined) return `${path}: ${areRequired(missingArguments(inUse?.usage ?? "", Number(count)))}`;
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

/** Returns the missing arguments as named in the usage, such as `INBOX_ADDRESS` and `WORDS`. */
function missingArguments(usage: string, count: number): readonly string[] {
  const required = [...usage.matchAll(/<([\w-]+)(?:\.\.)?>/g)].map(([, name = ""]) => name.toUpperCase());
  return required.slice(count);
}

/** Returns the names as typed. The parser names flags without dashes, and names some flags twice in two spellings. */
function asWritten(names: readonly string[], args: readonly string[]): readonly string[] {
  const flags = args.map((arg) => arg.replace(/=.*$/s, "")).filter((arg) => names.includes(arg.replace(/^--?/, "")));
  return flags.length > 0 ? flags : names;
}

/**
 * Throws a UserError for an empty value. It would be parsed as the number 0, and `--limit 0` means all tasks: an unset
 * shell variable must not start the largest run.
 */
export function refuseEmptyValues(args: readonly string[]): void {
  const at = args.findIndex((arg) => /^(--?[\w-]+=)?\s*$/.test(arg));
  if (at === -1) return;
  const flag = (args[at]?.trim() || args[at - 1] || "").replace(/=\s*$/, "");
  const what = flag.startsWith("-") ? `${flag}: the value` : "An argument";
  throw new UserError("flag_invalid", `${what} is empty.`, "Pass a value, or remove it.");
}

const PARSER_CONFIGURATION = {
  // Repeated values reach each flag's `coerce`, which joins list values.
  "duplicate-arguments-array": true,
  "boolean-negation": false,
  "strip-aliased": true,
};

/**
 * Declares the boolean flags of all subcommands before the subcommand is known. Otherwise, the parser would treat
 * "import" in `agents --replace import FILE` as the flag's value.
 */
function hideBooleans(parser: Argv, commands: readonly Command[]): Argv {
  const booleans = commands.flatMap(({ flags }) => Object.entries(flags).filter(([, { type }]) => type === "boolean"));
  const hidden = booleans.map(([name]) => [name, { type: "boolean", global: false, hidden: true }]);
  return parser.options(Object.fromEntries(hidden));
}

/** Process arguments cannot contain this character. */
const OPERAND_MARK = "\0";

/**
 * Marks everything after `--` as an operand, even if it starts with a dash (POSIX, Utility Syntax Guideline 10). yargs
 * does not count these words as arguments of a command. The mark is a character that no flag starts with, and
 * `withoutMarks` removes it.
 */
function markOperands(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  if (end === -1) return joinDescending(args);
  return [...joinDescending(args.slice(0, end)), ...args.slice(end + 1).map((operand) => `${OPERAND_MARK}${operand}`)];
}

/**
 * Turns `--sort -score` into `--sort=-score`. Short flags have one letter, so a longer word after a dash is the value
 * of the flag before it.
 */
function joinDescending(args: readonly string[]): string[] {
  const isValue = (i: number) => /^-[a-z]{2,}$/.test(args[i] ?? "") && /^--[a-z][a-z-]*$/.test(args[i - 1] ?? "");
  return args.flatMap((arg, i) => (isValue(i) ? [] : isValue(i + 1) ? [`${arg}=${args[i + 1]}`] : [arg]));
}

function withoutMarks<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutMarks) as T;
  return typeof value === "string" ? (value.replaceAll(OPERAND_MARK, "") as T) : value;
}

/** Declares the arguments and flags of a command. */
function addFlags({ positionals = {}, flags }: Command, usage: string, parser: Argv): Argv {
  const line = Object.entries(positionals).reduce(
    (rest, [name, argument]) => rest.positional(parsedName(name, usage), positionalOptions(argument)),
    parser,
  );
  return line.options(Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, parserOptions(flag)])));
}

function positionalOptions({ completes: _, offered: __, ...options }: Argument): PositionalOptions {
  return { ...options, coerce: withoutMarks };
}

/** Returns the options of a flag that yargs knows. */
function parserOptions({ placeholder: _, completes: __, offered: ___, schema: ____, ...options }: Flag): Options {
  return options;
}
