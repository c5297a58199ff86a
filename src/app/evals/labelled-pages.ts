import { type EvaluatedTrace, questionKey } from "../../domain/evals/evaluated-trace.js";
import { type Half, halfOf } from "../../evalgen/training-split.js";
import type { Db } from "../../store/connection/open-store.js";
import { type EffectiveLabel, iterateLabelled } from "../../store/evals/labels.js";

export interface LabelledTrace {
  readonly trace: EvaluatedTrace;
  readonly label: EffectiveLabel;
}

/** Traces in memory at once. */
const PAGE = 500;

/** The good and bad traces of one half, in the order of their ids, some at a time. */
export function* labelledPages(db: Db, criterion: string, half: Half, size = PAGE): Generator<LabelledTrace[]> {
  let page: LabelledTrace[] = [];
  for (const labelled of iterateLabelled(db, criterion)) {
    if (halfOf(questionKey(labelled.trace)) !== half) continue;
    page.push(labelled);
    if (page.length < size) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
