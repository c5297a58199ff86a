import { z } from "zod";
import type { Completion } from "../../domain/models/model.js";
import { toModelError } from "../http/provider-errors.js";

/** What a wire format reads out of a reply; the time it took is measured round it. */
export type Reply = Omit<Completion, "latencyMs" | "retries">;

/** A name is a few words; what a server puts there may be anything. */
const MAX_NAME = 200;

/** No reply is refused for a name that cannot be used. */
const nameSchema = z
  .string()
  .transform((name) => name.replace(/\s+/g, " ").trim())
  .pipe(z.string().min(1).max(MAX_NAME))
  .optional()
  .catch(undefined);

/** The model that a reply names, as the field of a `Reply`: none where it names none. */
export const modelNameSchema = nameSchema.transform((model) => (model === undefined ? {} : { model }));

/** A reply's id, as the field of a `Reply`: none where it has none. */
export const responseIdSchema = nameSchema.transform((responseId) => (responseId === undefined ? {} : { responseId }));

/**
 * One attempt: `send` puts the request on the wire and gives the parsed body within its time, `read` checks it. Rejects
 * with the signal's reason, or with a ModelError that has no key in it; a throw of ours in between stays what it is.
 */
export async function attempt(
  apiKey: string,
  signal: AbortSignal,
  send: () => Promise<unknown>,
  read: (body: unknown) => Reply,
): Promise<Completion> {
  const startedAt = performance.now();
  try {
    const body = await send();
    return { ...read(body), latencyMs: performance.now() - startedAt, retries: [] };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw toModelError(error, apiKey);
  }
}
