/** Servers that take scores beside spans, as they do not take them from the spans' events. */
export const SCORE_APIS = ["langfuse", "phoenix"] as const;

export type ScoreApi = (typeof SCORE_APIS)[number];
