import type { Model } from "../../domain/models/model.js";
import { otherModelNote, watchAnsweringModel } from "../../models/middleware/watch-reply-model.js";
import { stripControls } from "../../platform/strip-controls.js";

/** The same model. Notes once for each other model that its replies name. */
export function warnOfOtherModel(model: Model, note: (text: string) => void): Model {
  return watchAnsweringModel(model, (named) => note(stripControls(otherModelNote(model.id, named))));
}
