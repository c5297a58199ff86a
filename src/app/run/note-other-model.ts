import type { Model } from "../../domain/models/model.js";
import { otherModelNote, watched } from "../../models/answering-model.js";
import { printable } from "../../platform/strip-controls.js";

/** The same model; that its replies name another one is noted, once of each. */
export function noting(model: Model, note: (text: string) => void): Model {
  return watched(model, (named) => note(printable(otherModelNote(model.id, named))));
}
