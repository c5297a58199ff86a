import { ModelError } from "../../domain/models/model.js";

/** Many times the longest reply of a model: more means a faulty server. */
export const MAX_BYTES = 8 * 1024 * 1024;

/** Not retried: it would be billed again and most likely be as large. */
export function replyTooLarge(): ModelError {
  return new ModelError("protocol", `the reply is larger than ${MAX_BYTES / 1024 / 1024} MB`, { retryable: false });
}
