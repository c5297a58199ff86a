import { z } from "zod";
import { flagName } from "../../platform/command-line.js";
import { EXIT, type ExitCode, UserError } from "../../platform/errors.js";
import { type JsonObject, jsonObjectSchema } from "../../platform/json.js";
import { type Command, type CommandContext, type CommandDefinition, type Flags, lastRepeated } from "../command.js";

declare module "zod" {
  /** Settings for the help text and parsing of a flag, in addition to its description. */
  interface GlobalMeta {
    /** Another name, such as `l` or `csv-path`. */
    alias?: string;
    /** Placeholder for the value, such as FILE. */
    placeholder?: string;
    /** The value is a comma-separated list. Repeating the flag adds values to it. */
    isList?: boolean;
    /** The flag accepts one value and can be repeated. Its values can contain commas. */
    isRepeated?: boolean;
  }
}

type Argv = Readonly<Record<string, unknown>>;

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

/** Returns the argument names in a usage, such as `id` and `new_id` in `agents clone <id> <new_id>`. */
function positionalsOf(usage: string): string[] {
  return [...usage.matchAll(/[<[](\w+)/g)].map(([, name = ""]) => name);
}

/**
 * Returns the arguments and flags of a command for the parser. They are the schema's fields that have a description.
 */
export function declaredIn({ shape }: z.ZodObject, usage: string): Required<Pick<Command, "flags" | "positionals">> {
  const positionals = positionalsOf(usage);
  const described = Object.entries(shape).flatMap(([name, field]) => {
    const { alias } = (field as z.ZodType).meta() ?? {};
    const description = describe(field as z.ZodType);
    return description === undefined ? [] : [{ name, field: field as z.ZodType, description, alias }];
  });
  const flags = described
    .filter(({ name }) => !positionals.includes(name))
    .map(({ name, field, description, alias }): [string, Flags[string]] => {
      const { type, isArray, isRequired, isList, isRepeated, placeholder } = typeOf(field);
      const coerce = isRepeated ? listOf : isList ? joinRepeated : lastRepeated;
      const options = {
        ...(placeholder === undefined ? {} : { placeholder }),
        ...(alias === undefined ? {} : { alias }),
        ...(isArray ? {} : { coerce }),
        type,
        describe: description,
      };
      const value = {
        requiresArg: true,
        ...(isArray ? { array: true } : {}),
        ...(isRequired ? { demandOption: true } : {}),
      };
      return [flagName(name).slice("--".length), type === "boolean" ? options : { ...options, ...value }];
    });
  const args = described
    .filter(({ name }) => positionals.includes(name))
    .sort((a, b) => positionals.indexOf(a.name) - positionals.indexOf(b.name))
    .map(({ name, field, description }) => {
      const array = typeOf(field).isArray ? { array: true } : {};
      return [name, { type: "string" as const, ...array, describe: description }];
    });
  return { positionals: Object.fromEntries(args), flags: Object.fromEntries(flags) };
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

interface FlagType {
  readonly type: "boolean" | "number" | "string";
  readonly isArray: boolean;
  readonly isList: boolean;
  readonly isRepeated: boolean;
  readonly isRequired: boolean;
  readonly placeholder: string | undefined;
}

/** Returns the type of a field's input, which can be inside defaults and transformations. */
function typeOf(field: z.ZodType): FlagType {
  const { placeholder } = field.meta() ?? {};
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault) {
    const inner = typeOf(field.def.innerType as z.ZodType);
    return { ...inner, isRequired: false, placeholder: placeholder ?? inner.placeholder };
  }
  if (field instanceof z.ZodPipe) {
    const input = typeOf(field.def.in as z.ZodType);
    return { ...input, placeholder: placeholder ?? input.placeholder };
  }
  const type = field instanceof z.ZodBoolean ? "boolean" : field instanceof z.ZodNumber ? "number" : "string";
  const { isList = false, isRepeated = false } = field.meta() ?? {};
  return {
    type,
    isArray: field instanceof z.ZodArray && !isRepeated,
    isList,
    isRepeated,
    isRequired: type !== "boolean",
    placeholder: placeholder ?? choicesOf(field),
  };
}

/** Longer lists of choices appear only in the flag's description. */
const MAX_CHOICES_CHARS = 24;

function choicesOf(field: z.ZodType): string | undefined {
  if (!(field instanceof z.ZodEnum)) return undefined;
  const choices = field.options.join("|");
  return choices.length <= MAX_CHOICES_CHARS ? choices : undefined;
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
  const written = name !== null && positionalsOf(usage).includes(name) ? name.toUpperCase() : flagName(name ?? "");
  throw new UserError(
    "flag_invalid",
    `${name === null ? "" : `${written}: `}${issue?.message ?? "cannot be used"}.`,
    `See art-e ${usage.replace(/ [<[].*$/, "")} --help.`,
  );
}

export function contradiction(message: string, hint: string): UserError {
  return new UserError("flags_contradict", message, hint);
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER) {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const message = `expected a whole number ${range}`;
  return z.number(message).int(message).min(min, message).max(max, message);
}

export function numberBetween(min: number, max: number) {
  const message = `expected a number from ${min} to ${max}`;
  return z.number(message).min(min, message).max(max, message);
}

export function numberAbove(min: number, max: number) {
  const message = `expected a number above ${min}, at most ${max}`;
  return z.number(message).gt(min, message).max(max, message);
}

/** JSON object as typed on the command line. */
export const jsonObject = z
  .string("expected a JSON object")
  .meta({ placeholder: "JSON" })
  .transform((written, issues): JsonObject => {
    try {
      return jsonObjectSchema.parse(JSON.parse(written));
    } catch {
      issues.addIssue({ code: "custom", message: 'expected a JSON object, such as {"key": "value"}' });
      return z.NEVER;
    }
  });

export const repeated = z.array(z.string()).meta({ isRepeated: true });

export const text = z.string("expected a text").min(1, "expected a text");

export const file = text.meta({ placeholder: "FILE" });
export const folder = text.meta({ placeholder: "FOLDER" });
export const url = text.meta({ placeholder: "URL" });
export const address = text.meta({ placeholder: "ADDRESS" });
/** Run id, the start of one, or `latest`. */
export const runId = text.meta({ placeholder: "RUN" });

export const day = z.iso.date("expected a day, YYYY-MM-DD").meta({ placeholder: "DATE" });

export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, `expected ${values.join(" or ")}`);
}

/** US dollars per million input, output and cached input tokens, such as `3,15` or `3,15,0.3`. */
export const price = z
  .string()
  .regex(/^\d+(\.\d+)?(,\d+(\.\d+)?){1,2}$/, "expected IN,OUT or IN,OUT,CACHED: US dollars for a million tokens")
  .meta({ placeholder: "IN,OUT" })
  .transform((text) => {
    const [input = 0, output = 0, cachedInput = input] = text.split(",").map(Number);
    return { input, output, cachedInput };
  });

/** Number or share of tasks, such as `10` or `5%`. */
export const failures = z
  .string()
  .regex(/^\d+%?$/, "expected a number of tasks, or a share such as 5%")
  .meta({ placeholder: "N|N%" })
  .transform((text) => (text.endsWith("%") ? { share: Number(text.slice(0, -1)) / 100 } : { tasks: Number(text) }))
  .refine((limit) => ("share" in limit ? limit.share > 0 && limit.share <= 1 : limit.tasks >= 1), {
    message: "expected at least 1, or a share from 1% to 100%",
  });

/** Returns the names of the flags on the command line. All other flags have their default values. */
export function givenFlags(argv: Argv): ReadonlySet<string> {
  return new Set(Object.keys(argv).filter((name) => argv[name] !== undefined && argv[name] !== false));
}

/** Unparsed text of a flag that accepts a comma-separated list. */
export const listText = text.meta({ isList: true, placeholder: "NAME,NAME" });

/** Splits a list at commas and white space, such as `a,b c`. */
export function wordList(written: string): string[] {
  return written.split(/[\s,]+/).filter((word) => word !== "");
}

/** Run names, or the latest run if none are specified. */
export const runNames = z
  .array(text)
  .default(["latest"])
  .transform((runs) => (runs.length === 0 ? ["latest"] : runs));

/** `1,2,3` */
export const ids = listText
  .meta({ isList: true, placeholder: "ID,ID" })
  .transform(wordList)
  .pipe(
    z
      .array(z.string().regex(/^\d+$/, "expected whole numbers, separated by commas").transform(Number))
      .min(1, "expected whole numbers, separated by commas"),
  );
