import { z } from "zod";

/** Ids of agents and tools: a tool's id is the name that providers are sent, and this is what all of them take. */
export const registryIdSchema = z
  .string("expected a text")
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, "expected 1 to 64 letters, digits, - or _");
