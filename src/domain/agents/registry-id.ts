import { z } from "zod";

/** Ids of agents and tools. A tool's id is its name at the providers, and all of them accept this form. */
export const registryIdSchema = z
  .string("expected a text")
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, "expected 1 to 64 letters, digits, - or _");
