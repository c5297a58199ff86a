import { ModelError } from "../domain/model.js";

/** Many times what the longest reply of a model takes: more is a server gone wrong. */
export const MAX_BYTES = 8 * 1024 * 1024;

/** The response with a body that fails once it is too large, instead of being held in memory whole. */
export function boundedBody(response: Response): Response {
  if (response.body === null) return response;
  let bytes = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MAX_BYTES) throw tooLarge();
      controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(count), { status, statusText, headers });
}

/** Not tried again: it would be paid for again, and most likely be as large. */
export function tooLarge(): ModelError {
  return new ModelError("protocol", `the reply is larger than ${MAX_BYTES / 1024 / 1024} MB`, { retryable: false });
}
