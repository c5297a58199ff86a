// Schemas of the options of `importMail` and `search`, which take the same values as the flags of the commands.
import { z } from "zod";
import { CORPUS_FORMATS } from "../../mail/email.js";
import { day, oneOf, text, toggle, wholeNumber } from "../../platform/flag-values.js";

export const importSchema = z.object({
  sources: z.array(text),
  format: oneOf(CORPUS_FORMATS).optional(),
  limit: wholeNumber(0).default(0),
  filter: oneOf(["none", "art"]).default("none"),
  ownerMap: text.optional(),
  strict: toggle,
});

export const mailSearchSchema = z.object({
  limit: wholeNumber(1, 50).default(10),
  from: text.optional(),
  to: text.optional(),
  after: day.optional(),
  before: day.optional(),
  cutoff: day.optional(),
});
