import { z } from "zod";
import { text } from "../cli/read-flags.js";

/** `accuracy,sources`: names of metrics, separated by commas. */
export const metrics = text
  .transform((list) => list.split(/[\s,]+/).filter((name) => name !== ""))
  .pipe(z.array(z.string()).min(1, "expected names of metrics, separated by commas"));
