import { z } from "zod";

/** A number of tasks at once, or `auto`. */
export const concurrency = z
  .string()
  .regex(/^(auto|[1-9]\d{0,3})$/, "expected auto, or a whole number from 1 to 9999")
  .transform((text) => (text === "auto" ? ("auto" as const) : Number(text)))
  .default("auto");
