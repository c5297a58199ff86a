// Reads a final answer and its sources from the text of a reply.
import { z } from "zod";
import { parseJsonOrNull } from "../../platform/json.js";

/** An answer that is JSON. */
export const answerSchema = z.object({
  answer: z.string(),
  sources: z
    .array(z.string())
    .nullish()
    .transform((sources) => sources ?? []),
});

/** Returns the text, or the answer and sources if it is bare or fenced JSON: `{"answer": "...", "sources": [...]}`. */
export function readAnswer(content: string): z.output<typeof answerSchema> {
  const text = content.trim();
  const [, fenced = text] = /^```(?:json)?[^\S\n]*\n([\s\S]*?)```$/.exec(text) ?? [];
  const read = answerSchema.safeParse(fenced.trim().startsWith("{") ? parseJsonOrNull(fenced) : null);
  return read.success ? { ...read.data, answer: read.data.answer.trim() } : { answer: text, sources: [] };
}
