// Derives a command's flags, help and checks from one zod schema.
import { z } from "zod";
import { flagName, helpHint } from "../../platform/command-line.js";
import { EXIT, type ExitCode, UserError } from "../../platform/errors.js";
import { isOptional, layersOf, type NameKind, traitsOf } from "../../platform/flag-values.js";
import { compact, presentProperties } from "../../platform/optional-values.js";
import {
  type Argument,
  type Command,
  type CommandContext,
  type CommandDefinition,
  type Flag,
  lastRepeated,
  pathOf,
} from "../command.js";
import { argumentNames, firstArgumentFlag } from "./first-argument.js";

type Argv = Readonly<Record<string, unknown>>;

interface FlagType {
  readonly type: "boolean" | "number" | "string";
  readonly isArray: boolean;
  readonly isList: boolean;
  readonly isRepeated: boolean;
  readonly isRequired: boolean;
  readonly placeholder: string | undefined;
  readonly completes: NameKind | undefined;
  readonly offered: readonly string[] | undefined;
}

/** Defines a command whose flags are checked against the schema. The command succeeds if `run` returns no exit code. */
export function defineCommand<T extends z.ZodObject>(
  schema: T,
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands return no exit code
  run: (flags: z.output<T>, context: CommandContext, argv: Argv) => Promise<ExitCode | void>,
): CommandDefinition {
  return (usage) => ({
    ...declaredIn(schema, usage),
    run: async (argv, context) => (await run(readFlags(usage, schema, argv), context, argv)) ?? EXIT.done,
  });
}

/**
 * Returns the arguments and flags of a command for the parser. They are the schema's fields that have a description,
 * and the flag of its first argument (`first-argument.ts`).
 */
export function declaredIn({ shape }: z.ZodObject, usage: string): Required<Pick<Command, "flags" | "positionals">> {
  const names = argumentNames(usage);
  const fields = Object.entries(shape as Readonly<Record<string, z.ZodType>>);
  const describedFields = fields.filter(([, field]) => describe(field) !== undefined);
  const flags = describedFields
    .filter(([name]) => !names.includes(name))
    .map(([name, field]): [string, Flag] => [flagName(name).slice("--".length), flagOf(field)]);
  const args = describedFields
    .filter(([name]) => names.includes(name))
    .sort(([a], [b]) => names.indexOf(a) - names.indexOf(b))
    .map(([name, field]): [string, Argument] => [name, argumentOf(field)]);
  return {
    positionals: Object.fromEntries(args),
    flags: { ...firstArgumentFlag(usage), ...Object.fromEntries(flags) },
  };
}

function flagOf(field: z.ZodType): Flag {
  const { alias } = field.meta() ?? {};
  const { type, isArray, isRequired, isList, isRepeated, placeholder, completes, offered } = typeOf(field);
  const coerce = isRepeated ? listOf : isList ? joinRepeated : lastRepeated;
  const options = {
    type,
    describe: describe(field) ?? "",
    schema: field,
    ...presentProperties({ placeholder, completes, offered, alias }),
    ...(isArray ? {} : { coerce }),
  };
  if (type === "boolean") return options;
  return {
    ...options,
    requiresArg: true,
    ...(isArray ? { array: true } : {}),
    ...(isRequired ? { demandOption: true } : {}),
  };
}

function argumentOf(field: z.ZodType): Argument {
  const { isArray, completes, offered } = typeOf(field);
  return {
    type: "string",
    describe: describe(field) ?? "",
    ...(isArray ? { array: true } : {}),
    ...presentProperties({ completes, offered }),
  };
}

/** Joins the values of a repeated list flag into one list. */
function joinRepeated(values: unknown): unknown {
  return Array.isArray(values) ? values.join(",") : values;
}

/** Returns the values of a repeatable flag as an array. */
function listOf(values: unknown): unknown {
  return values === undefined || Array.isArray(values) ? values : [values];
}

/**
 * Returns a field's description. Appends the default if the description does not mention it, as in
 * `Mails to show [default: 10]`.
 */
export function describe(field: z.ZodType): string | undefined {
  const { description } = field;
  const fallback = field instanceof z.ZodDefault ? field.def.defaultValue : undefined;
  const isShown = typeof fallback === "number" || typeof fallback === "string";
  return isShown && description?.includes("[default: ") === false
    ? `${description} [default: ${fallback}]`
    : description;
}

/** Returns the type of a field's input, which can be inside defaults and transformations. */
function typeOf(field: z.ZodType): FlagType {
  const layers = layersOf(field);
  const input = layers.at(-1);
  const type = input instanceof z.ZodBoolean ? "boolean" : input instanceof z.ZodNumber ? "number" : "string";
  const offered = input instanceof z.ZodEnum ? input.options.map(String) : undefined;
  const [placeholder = placeholderOf(offered)] = compact(layers.map((layer) => layer.meta()?.placeholder));
  const { isList = false, isRepeated = false, completes } = traitsOf(field);
  const isArray = input instanceof z.ZodArray && !isRepeated;
  const isRequired = type !== "boolean" && !layers.some(isOptional);
  return { type, isArray, isList, isRepeated, isRequired, placeholder, completes, offered };
}

/** Longer lists of choices appear only in the flag's description. */
const MAX_CHOICES_CHARS = 24;

function placeholderOf(choices: readonly string[] = []): string | undefined {
  const text = choices.join("|");
  return text !== "" && text.length <= MAX_CHOICES_CHARS ? text : undefined;
}

/**
 * Checks a command's flags. The error names the first invalid flag as typed, or the first invalid argument in upper
 * case.
 */
export function readFlags<T extends z.ZodType>(usage: string, schema: T, argv: Argv): z.output<T> {
  const result = schema.safeParse(argv);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const name = issue?.path[0] === undefined ? null : String(issue.path[0]);
  const argumentName = name !== null && argumentNames(usage).includes(name) ? name.toUpperCase() : flagName(name ?? "");
  throw new UserError(
    "flag_invalid",
    `${name === null ? "" : `${argumentName}: `}${issue?.message ?? "cannot be used"}.`,
    helpHint(pathOf(usage)),
  );
}

export function contradiction(message: string, hint: string): UserError {
  return new UserError("flags_contradict", message, hint);
}

/** Returns the names of the flags on the command line. All other flags have their default values. */
export function givenFlags(argv: Argv): ReadonlySet<string> {
  return new Set(Object.keys(argv).filter((name) => argv[name] !== undefined && argv[name] !== false));
}
