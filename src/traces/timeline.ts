import type { Trace, Turn } from "./trace.js";

type Stretch = Pick<TimelineSegment, "kind" | "durationMs" | "detail">;

/**
 * A trace's time in the order in which it was spent: turn by turn the waiting, the model call and its tools. Stretches
 * follow one another without gaps; what they do not cover is the last, `other`. Stretches of no time are left out.
 */
export function timelineOf({ turns, toolCalls, durationMs }: Pick<Trace, "turns" | "toolCalls" | "durationMs">) {
  const segments: TimelineSegment[] = [];
  let startMs = 0;
  const add = (turn: number | null, stretches: readonly Stretch[]) => {
    for (const stretch of stretches) {
      if (stretch.durationMs <= 0) continue;
      segments.push({ ...stretch, startMs, turn });
      startMs += stretch.durationMs;
    }
  };
  for (const [i, turn] of turns.entries()) {
    add(i + 1, waitsOf(turn));
    add(i + 1, [{ kind: "model", durationMs: turn.latencyMs, detail: null }]);
    const calls = toolCalls.filter((call) => call.turn === i);
    add(
      i + 1,
      calls.map((call) => ({ kind: "tool" as const, durationMs: call.durationMs, detail: call.name })),
    );
  }
  add(null, [{ kind: "other", durationMs: durationMs - startMs, detail: null }]);
  return segments;
}

/** As they are told apart, and the rest of the waiting as one. */
function waitsOf({ waits = [], waitedMs = 0, retries }: Turn): Stretch[] {
  let failed = 0;
  const told = waits.map(({ kind, durationMs }): Stretch => {
    const detail = kind === "failed_attempt" ? (retries[failed++]?.reason ?? null) : null;
    return { kind, durationMs, detail };
  });
  const rest = waitedMs - told.reduce((sum, { durationMs }) => sum + durationMs, 0);
  // Below a millisecond it is what measuring takes.
  return rest < 1 ? told : [...told, { kind: "waiting", durationMs: rest, detail: null }];
}

/**
 * What a stretch of a task's time went into. `slot`: a call waited for others to end. `throttled`: it waited for a
 * limit of requests or tokens, or for the server's patience. `waiting`: one of these or of what follows a failed
 * attempt, in traces that do not tell them apart. `other`: what is left, such as opening and closing the task.
 */
const TIMELINE_KINDS = ["model", "tool", "slot", "throttled", "failed_attempt", "pause", "waiting", "other"] as const;

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

export function sumByKind(segments: readonly TimelineSegment[]): { kind: TimelineKind; ms: number }[] {
  return TIMELINE_KINDS.flatMap((kind) => {
    const some = segments.filter((segment) => segment.kind === kind);
    return some.length === 0 ? [] : [{ kind, ms: some.reduce((sum, { durationMs }) => sum + durationMs, 0) }];
  });
}
