import { UserError } from "../../domain/errors.js";
import type { TraceLabel } from "../../domain/evals/label.js";
import type { Db } from "../../store/connection/open-store.js";
import { saveLabel } from "../../store/evals/labels.js";
import { labelledByPerson } from "../../store/evals/traces-to-label.js";
import { getTrace } from "../../store/runs/traces.js";

/** Saves what a person says of a trace, and returns the id of the label. */
export function saveGivenLabel(db: Db, label: Omit<TraceLabel, "source" | "createdAt">): number {
  const { traceId } = getTrace(db, label.traceId);
  if (label.isRepeat && !labelledByPerson(db, label.criterion).has(traceId)) {
    throw new UserError(
      "label_unrepeated",
      `${traceId} was not labelled for ${label.criterion} before, so it cannot be asked again.`,
      "Save it as a first label.",
    );
  }
  return saveLabel(db, { ...label, traceId, source: "person", createdAt: new Date().toISOString() });
}
