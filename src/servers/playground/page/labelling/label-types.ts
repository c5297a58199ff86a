/** What the label page reads of the API's answers. */

export interface LabelSummaryJson {
  readonly labels: Readonly<Record<"good" | "bad" | "neutral" | "skip", number>>;
  readonly self_agreement: { readonly value: number | null; readonly n: number };
}

export interface QueuedTraceJson {
  readonly trace_id: string;
  readonly is_repeat: boolean;
}

export interface LabelQueueJson extends LabelSummaryJson {
  readonly run_id: string | null;
  readonly waiting: number;
  readonly queue: readonly QueuedTraceJson[];
}

export interface SavedLabelJson extends LabelSummaryJson {
  readonly id: number;
}

export type GivenLabel = "good" | "bad" | "skip";

/** What is labelled: the traces of a run or, with null, those of chats, for one failure mode. */
export interface LabelSubject {
  readonly runId: string | null;
  readonly criterion: string;
}

const CHATS = "chats";

/** No failure mode in particular. */
export const OVERALL = "overall";

/** Of an address such as `#label/latest?criterion=tone`. */
export function readSubject(id: string, query: URLSearchParams): LabelSubject {
  return { runId: id === CHATS ? null : id, criterion: query.get("criterion") || OVERALL };
}

export function subjectHash({ runId, criterion }: LabelSubject): string {
  const query = criterion === OVERALL ? "" : `?${new URLSearchParams({ criterion })}`;
  return `#label/${encodeURIComponent(runId ?? CHATS)}${query}`;
}
