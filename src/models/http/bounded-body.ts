import { ModelError } from "../../domain/models/model.js";

/** Many times what the longest reply of a model takes: more is a server gone wrong. */
export const MAX_BYTES = 8 * 1024 * 1024;

/** Not tried again: it would be paid for again, and most likely be as large. */
export function replyTooLarge(): ModelError {
  return new ModelError("protocol", `the reply is larger than ${MAX_BYTES / 1024 / 1024} MB`, { retryable: false });
}
