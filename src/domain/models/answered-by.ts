/** Which models answered, by the names that their replies give. */
import { z } from "zod";

/** How many replies name which model. */
export const answeredBySchema = z.record(z.string(), z.number().int().positive()).readonly();

export type AnsweredBy = z.output<typeof answeredBySchema>;

export function addReplies(a: AnsweredBy, b: AnsweredBy): AnsweredBy {
  const sums = new Map(Object.entries(a));
  for (const [model, replies] of Object.entries(b)) sums.set(model, (sums.get(model) ?? 0) + replies);
  return Object.fromEntries(sums);
}

/** Counts the models named by turns or votes. */
export function repliesBy(named: readonly { readonly model?: string }[]): AnsweredBy {
  return named.reduce<AnsweredBy>(
    (sum, { model }) => (model === undefined ? sum : addReplies(sum, { [model]: 1 })),
    {},
  );
}

/** The field of a result, absent if no reply named a model. */
export function answeredByField(answeredBy: AnsweredBy): { readonly answeredBy?: AnsweredBy } {
  return Object.keys(answeredBy).length === 0 ? {} : { answeredBy };
}
