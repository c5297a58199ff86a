import { z } from "zod";
import { type RunFlags, runSchema } from "../run/run-flags.js";

/** A setting of the config file: what it may be there, and the flag that it stands for. */
export interface ConfigField {
  readonly flag: keyof RunFlags;
  /** Reads what the file says into what would be typed for the flag. */
  readonly schema: z.ZodType;
  /** A path from the folder of the file; `source`: where there is such a file, else a name; `model`: as replay/FILE. */
  readonly path?: "file" | "source" | "model";
  /** Makes the program send keys to an address, or run a program: only a file that --config names may say it. */
  readonly trusted?: "address" | "program";
}

const { shape } = runSchema;

/** A setting that is written as on the command line. */
export function field(flag: keyof RunFlags, more: Omit<ConfigField, "flag" | "schema"> = {}): ConfigField {
  return { flag, schema: required(shape[flag]), ...more };
}

function required(schema: z.ZodType): z.ZodType {
  const isOptional = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault;
  return isOptional ? required(schema.unwrap() as z.ZodType) : schema;
}

/** A setting with a form of its own, which the flag's schema checks as the text that it becomes. */
export function fieldAs(flag: keyof RunFlags, form: z.ZodType<string>): ConfigField {
  const schema = form.superRefine((text, context) => {
    const [issue] = required(shape[flag]).safeParse(text).error?.issues ?? [];
    if (issue !== undefined) context.addIssue({ code: "custom", message: issue.message });
  });
  return { flag, schema };
}

export const listed = (item: z.ZodType<string | number>) =>
  z.array(item, "expected a list, such as [a, b]").transform((items) => items.join(","));

export const names = listed(z.string("expected a text"));

export const thresholds = z
  .record(z.string(), z.number("expected a number"), "expected METRIC: VALUE, such as accuracy: 0.8")
  .transform((limits) =>
    Object.entries(limits)
      .map(([metric, limit]) => `${metric}=${limit}`)
      .join(","),
  );

const PRICE = "expected US dollars for a million tokens";
const dollars = z.number(PRICE).nonnegative(PRICE);
export const prices = z
  .strictObject({ input: dollars, output: dollars, cached: dollars.optional() }, "expected input and output")
  .transform(({ input, output, cached }) => [input, output, ...(cached === undefined ? [] : [cached])].join(","));

export const numberOr = (word: z.ZodType<string>, message: string) =>
  z.union([z.number(message), word], message).transform(String);
