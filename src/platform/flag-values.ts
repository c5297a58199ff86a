// Values of flags: how they are typed on a command line and written in the config file. Knows nothing about commands.
import { z } from "zod";
import { type JsonObject, jsonObjectSchema } from "./json.js";
import { compact, presentProperties } from "./optional-values.js";

/** Kinds of names that a shell can complete. */
export type NameKind = "agents" | "evals" | "mailboxes" | "runs" | "tasks" | "tools" | "traces" | "suiteTasks";

declare module "zod" {
  /** Properties of a flag in help, in addition to the description. */
  interface GlobalMeta {
    /** Another name, such as `l` or `csv-path`. */
    alias?: string;
    /** Placeholder for the value, such as FILE. */
    placeholder?: string;
  }
}

/** How a value is parsed, completed and written in the config file. */
interface ValueTraits {
  /** The value is a comma-separated list. Repeating the flag adds values to it. */
  readonly isList?: boolean;
  /** The flag accepts one value and can be repeated. Its values can contain commas. */
  readonly isRepeated?: boolean;
  /** Names that complete the value. */
  readonly completes?: NameKind;
  /** Schema of the value in the config file, which converts it to the value typed for the flag. */
  readonly inConfig?: z.ZodType;
  /**
   * The value is a path, relative to the config file if it is from there. `source` can also be a run, and `model`
   * contains a path only in the form replay/FILE.
   */
  readonly path?: "file" | "source" | "model";
  /** What the value can do: run a program, receive keys at an address, or send environment variables. */
  readonly risk?: "program" | "address" | "variables";
}

/** A flag that several commands have. */
export interface SharedFlag {
  /** Schema of the value as typed. Contains the default, if there is one. */
  readonly schema: z.ZodType;
  readonly help: string;
  readonly alias?: string;
  /** Placeholder for the value in help [default: the value's]. */
  readonly placeholder?: string;
}

/** Shape of a zod object with the flags' values. */
type FlagShape<T extends Readonly<Record<string, SharedFlag>>> = {
  -readonly [Name in keyof T]: T[Name]["schema"];
};

/** Traits by schema. They are not in zod's own registry, because that one is printed in JSON Schemas. */
const TRAITS = new WeakMap<z.core.$ZodType, ValueTraits>();

/** Returns the schema, followed by the schemas inside its defaults and transformations. The last one is the input's. */
export function layersOf(schema: z.ZodType): readonly z.ZodType[] {
  if (isOptional(schema)) return [schema, ...layersOf(schema.def.innerType as z.ZodType)];
  return schema instanceof z.ZodPipe ? [schema, ...layersOf(schema.def.in as z.ZodType)] : [schema];
}

export function isOptional(schema: z.ZodType): schema is z.ZodOptional | z.ZodDefault {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault;
}

/** Returns the traits of a value. Outer layers override the traits of inner ones. */
export function traitsOf(schema: z.ZodType): ValueTraits {
  return Object.assign({}, ...layersOf(schema).map(ownTraits).reverse());
}

/** Returns the traits of a schema, including those of the schema that it is a refined copy of. */
function ownTraits(schema: z.core.$ZodType): ValueTraits {
  const { parent } = schema._zod;
  return { ...(parent === undefined ? {} : ownTraits(parent)), ...TRAITS.get(schema) };
}

/** Returns a copy of the schema with additional traits and placeholder. */
export function withTraits<T extends z.ZodType>(
  schema: T,
  { placeholder, ...traits }: ValueTraits & { readonly placeholder?: string },
): T {
  const copy = schema.meta(placeholder === undefined ? {} : { placeholder });
  TRAITS.set(copy, traits);
  return copy;
}

/** Returns the schemas of flags with their help texts, for `z.object`. */
export function shapeOf<T extends Readonly<Record<string, SharedFlag>>>(flags: T): FlagShape<T> {
  const entries = Object.entries(flags).map(([name, { schema, help, alias, placeholder }]) => [
    name,
    schema.meta({
      description: help,
      ...presentProperties({ alias, placeholder }),
    }),
  ]);
  return Object.fromEntries(entries) as FlagShape<T>;
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

export function numberAbove(min: number, max = Number.MAX_SAFE_INTEGER) {
  const message = `expected a number above ${min}${max === Number.MAX_SAFE_INTEGER ? "" : `, at most ${max}`}`;
  return z.number(message).gt(min, message).max(max, message);
}

export const text = z.string("expected text").min(1, "expected text");

/** A boolean flag. It is off unless it is given. */
export const toggle = z.boolean().default(false);

export const file = withTraits(text, { placeholder: "FILE", path: "file" });
/** An output file of a command that can also write to stdout: `-` stands for stdout, like no file. */
export const fileOrStdout = file.transform((path) => (path === "-" ? undefined : path)).optional();
export const folder = withTraits(text, { placeholder: "FOLDER", path: "file" });
export const url = withTraits(text, { placeholder: "URL", risk: "address" });
/** Address or name of a person. */
export const person = text.meta({ placeholder: "PERSON" });
export const mailbox = withTraits(text, { placeholder: "ADDRESS", completes: "mailboxes" });
export const agentName = withTraits(text, { completes: "agents" });
/** Eval name, or NAME@VERSION. */
export const evalName = withTraits(text, { completes: "evals" });
/** Run id, the start of one, or `latest`. */
export const runName = withTraits(text, { placeholder: "RUN", completes: "runs" });
/** `provider/model`, or `replay/FILE`. */
export const modelName = withTraits(text, { path: "model" });

export const day = z.iso.date("expected a date, YYYY-MM-DD").meta({ placeholder: "DATE" });

export function oneOf<const T extends readonly [string, ...string[]]>(
  values: T,
  removed: Readonly<Record<string, T[number]>> = {},
) {
  const expected = `expected ${values.join(" or ")}`;
  return z.enum(values, {
    error: ({ input }) => {
      const replacement = typeof input === "string" && Object.hasOwn(removed, input) ? removed[input] : undefined;
      return replacement === undefined ? expected : `${input} no longer exists, use ${replacement}`;
    },
  });
}

/** JSON object as typed on the command line. */
export const jsonObject = z
  .string("expected a JSON object")
  .meta({ placeholder: "JSON" })
  .transform((values, issues): JsonObject => {
    try {
      return jsonObjectSchema.parse(JSON.parse(values));
    } catch {
      issues.addIssue({ code: "custom", message: 'expected a JSON object, such as {"key": "value"}' });
      return z.NEVER;
    }
  });

/** A flag that accepts one value and can be repeated. */
export const repeated = withTraits(z.array(z.string()), { isRepeated: true });

const configList = (item: z.ZodType<string | number>) =>
  z.array(item, "expected a list, such as [a, b]").transform((items) => items.join(","));

/** Unparsed text of a flag that accepts a comma-separated list. */
export const listText = withTraits(text, {
  isList: true,
  placeholder: "NAME,NAME",
  inConfig: configList(z.string("expected text")),
});

/** Splits a list at commas and white space, such as `a,b c`. */
export function splitList(list: string): string[] {
  return list.split(/[\s,]+/).filter((word) => word !== "");
}

/** Comma-separated words. */
export const words = listText.transform(splitList);

/** Metric names, such as `accuracy,sources`. */
export const metrics = words.pipe(z.array(z.string()).min(1, "expected names of metrics, separated by commas"));

/** Task ids of questions, such as `1,2,3`. */
export const ids = withTraits(listText, {
  placeholder: "ID,ID",
  completes: "tasks",
  inConfig: configList(z.number("expected a number")),
})
  .transform(splitList)
  .pipe(
    z
      .array(z.string().regex(/^\d+$/, "expected whole numbers, separated by commas").transform(Number))
      .min(1, "expected whole numbers, separated by commas"),
  );

/** Values per metric, such as `accuracy=0.8,sources=0.7`. */
export const thresholds = withTraits(listText, {
  placeholder: "SCORE=N",
  inConfig: z
    .record(z.string(), z.number("expected a number"), "expected METRIC: VALUE, such as accuracy: 0.8")
    .transform((limits) =>
      Object.entries(limits)
        .map(([metric, limit]) => `${metric}=${limit}`)
        .join(","),
    ),
})
  .regex(
    /^[\w.:-]+=-?\d+(\.\d+)?(,[\w.:-]+=-?\d+(\.\d+)?)*$/,
    "expected METRIC=VALUE,METRIC=VALUE, such as accuracy=0.8",
  )
  .transform((list) =>
    list.split(",").map((part) => {
      const [metric = "", limit] = part.split("=");
      return { metric, limit: Number(limit) };
    }),
  );

const DOLLARS = "expected US dollars per million tokens";
const dollars = z.number(DOLLARS).nonnegative(DOLLARS);

/** US dollars per million input, output and cached input tokens, such as `3,15` or `3,15,0.3`. */
export const price = withTraits(
  z
    .string()
    .regex(/^\d+(\.\d+)?(,\d+(\.\d+)?){1,2}$/, "expected IN,OUT or IN,OUT,CACHED: US dollars per million tokens"),
  {
    placeholder: "IN,OUT",
    inConfig: z
      .strictObject({ input: dollars, output: dollars, cached: dollars.optional() }, "expected input and output")
      .transform(({ input, output, cached }) => compact([input, output, cached]).join(",")),
  },
).transform((text) => {
  const [input = 0, output = 0, cachedInput = input] = text.split(",").map(Number);
  return { input, output, cachedInput };
});

const numberOr = (word: z.ZodType<string>, message: string) =>
  z.union([z.number(message), word], message).transform(String);

const FAILURES = "expected a number of tasks, or a percentage such as 5%";

/** Number or percentage of tasks, such as `10` or `5%`. */
export const failures = withTraits(z.string().regex(/^\d+%?$/, FAILURES), {
  placeholder: "N|N%",
  inConfig: numberOr(z.string(), FAILURES),
})
  .transform((text) => (text.endsWith("%") ? { share: Number(text.slice(0, -1)) / 100 } : { tasks: Number(text) }))
  .refine((limit) => ("share" in limit ? limit.share > 0 && limit.share <= 1 : limit.tasks >= 1), {
    message: "expected at least 1, or a percentage from 1% to 100%",
  });

const MAX_CONCURRENCY = 9_999;

const CONCURRENCY = `expected auto, or a whole number from 1 to ${MAX_CONCURRENCY}`;

/** Number of concurrent tasks, or `auto`, as in a request. */
export const concurrencyValue = z.union([z.literal("auto"), wholeNumber(1, MAX_CONCURRENCY)], CONCURRENCY);

/** Number of concurrent tasks, or `auto`. */
export const concurrency = withTraits(z.string().regex(/^(auto|[1-9]\d{0,3})$/, CONCURRENCY), {
  inConfig: numberOr(z.literal("auto"), CONCURRENCY),
}).transform((text) => (text === "auto" ? ("auto" as const) : Number(text)));

export const OVERWRITE_FLAG = {
  overwrite: { schema: toggle, help: "Replace an output file of another kind" },
} satisfies Record<string, SharedFlag>;
