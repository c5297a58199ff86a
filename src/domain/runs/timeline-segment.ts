/**
 * What a stretch of a task's time went into. `slot`: a call waited for others to end. `throttled`: it waited for a limit
 * of requests or tokens, or for the server's patience. `waiting`: one of the four, in traces that do not tell them
 * apart. `other`: what is left, such as opening and closing the task.
 */
export const TIMELINE_KINDS = [
  "model",
  "tool",
  "slot",
  "throttled",
  "failed_attempt",
  "pause",
  "waiting",
  "other",
] as const;

export type TimelineKind = (typeof TIMELINE_KINDS)[number];

export interface TimelineSegment {
  readonly kind: TimelineKind;
  readonly startMs: number;
  readonly durationMs: number;
  /** The model call that it belongs to, from 1; null of `other`. */
  readonly turn: number | null;
  /** The tool, or why an attempt failed. */
  readonly detail: string | null;
}

/** The time of each kind that occurs. */
export function sumByKind(segments: readonly TimelineSegment[]): { kind: TimelineKind; ms: number }[] {
  return TIMELINE_KINDS.flatMap((kind) => {
    const some = segments.filter((segment) => segment.kind === kind);
    return some.length === 0 ? [] : [{ kind, ms: some.reduce((sum, { durationMs }) => sum + durationMs, 0) }];
  });
}
