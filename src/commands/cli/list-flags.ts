import { z } from "zod";
import { text } from "./read-flags.js";

/** `a,b c`: words separated by commas or white space. */
export function wordList(written: string): string[] {
  return written.split(/[\s,]+/).filter((word) => word !== "");
}

/** Names of runs; none: the newest. */
export const runNames = z
  .array(text)
  .default(["latest"])
  .transform((runs) => (runs.length === 0 ? ["latest"] : runs));

/** `1,2,3` */
export const ids = z
  .union([z.string(), z.number()])
  .transform((value) => wordList(String(value)))
  .pipe(
    z
      .array(z.string().regex(/^\d+$/, "expected whole numbers, separated by commas").transform(Number))
      .min(1, "expected whole numbers, separated by commas"),
  );
