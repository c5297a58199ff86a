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

/** `latest?criterion=tone`: what follows `#label/` in the address. */
export function readSubject(id: string): LabelSubject {
  const [run = "", query = ""] = id.split("?");
  return { runId: run === CHATS ? null : run, criterion: new URLSearchParams(query).get("criterion") || "overall" };
}

export function subjectHash({ runId, criterion }: LabelSubject): string {
  return `#label/${encodeURIComponent(`${runId ?? CHATS}?criterion=${criterion}`)}`;
}
