import { z } from "zod";

/** A name is a few words, but a server might send anything. */
export const MAX_NAME = 200;

/** Unusable names are ignored, so that they never invalidate a reply. */
const nameSchema = z
  .string()
  .transform((name) => name.replace(/\s+/g, " ").trim())
  .pipe(z.string().min(1).max(MAX_NAME))
  .optional()
  .catch(undefined);

/** Converts a reply's model name to a property of `Reply`, which is absent if the name is missing. */
export const modelNameSchema = nameSchema.transform((model) => (model === undefined ? {} : { model }));

/** Converts a reply's ID to a property of `Reply`, which is absent if the ID is missing. */
export const responseIdSchema = nameSchema.transform((responseId) => (responseId === undefined ? {} : { responseId }));
