import type { Model } from "../domain/model.js";
import { requestKey } from "./request-key.js";

/**
 * A model that also hands every reply it gives, with its request, to `write`: one line of JSON, its line end included,
 * in the form `replay/FILE` answers from. Failed calls are not recorded.
 */
export function recording(model: Model, write: (line: string) => void): Model {
  return {
    id: model.id,
    async complete(request, signal) {
      const completion = await model.complete(request, signal);
      const entry = { key: requestKey(model.id, request), model: model.id, request, completion };
      write(`${JSON.stringify(entry)}\n`);
      return completion;
    },
  };
}
