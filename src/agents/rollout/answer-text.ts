// Reads a final answer and its sources from the text of a reply.
import { z } from "zod";
import { jsonObjectsIn, parseJsonOrNull } from "../../platform/json.js";

const sourceSchema = z.union([
  z.string(),
  z.object({ message_id: z.string() }).transform((source) => source.message_id),
]);

/** An answer that is JSON. Some models write a number, null for no answer, or a single source. */
export const answerSchema = z.object({
  answer: z
    .union([z.string(), z.number(), z.boolean()])
    .nullable()
    .transform((answer) => String(answer ?? "").trim()),
  sources: z
    .union([z.array(sourceSchema), sourceSchema.transform((source) => [source])])
    .nullish()
    .transform((sources) => sources ?? []),
});

/**
 * Returns the text, or the answer and sources if exactly one object in it has an answer:
 * `{"answer": "...", "sources": [...]}`.
 */
export function readAnswer(content: string): z.output<typeof answerSchema> {
  const text = content.trim();
  const decoded = parseJsonOrNull(text);
  const objects = jsonObjectsIn(typeof decoded === "string" ? decoded : text);
  const [read, ...others] = objects.flatMap((object) => answerSchema.safeParse(object).data ?? []);
  return read !== undefined && others.length === 0 ? read : { answer: text, sources: [] };
}
