// Divides the duration of a trace into model calls, tools and waits.
import type { Trace, Turn } from "./trace.js";

type Stretch = Pick<TimelineSegment, "kind" | "durationMs" | "detail">;

export interface TimelineSegment {
  readonly kind: TimelineKind;
  readonly startMs: number;
  readonly durationMs: number;
  /** Number of the model call, from 1, or null for `other`. */
  readonly turn: number | null;
  /** Name of the tool, or the reason why an attempt failed. */
  readonly detail: string | null;
}

/**
 * Kinds of segments. `slot`: a call waited for other calls to finish. `throttled`: it waited because of a request or
 * token limit, or because the server requested a wait. `waiting`: a wait or a failed attempt, in traces that do not
 * distinguish them. `other`: the rest, such as opening and closing the task.
 */
const TIMELINE_KINDS = ["model", "tool", "slot", "throttled", "failed_attempt", "pause", "waiting", "other"] as const;

export type TimelineKind = (typeof TIMELINE_KINDS)[number];

/**
 * Divides a trace's duration into chronological segments: the waits, the model call and the tools of each turn. The
 * segments follow one another without gaps, and the last one, `other`, is the rest of the duration. Empty segments are
 * left out.
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

/** The recorded waits of a turn, then the rest of its waiting time as one segment. */
function waitsOf({ waits = [], waitedMs = 0, retries }: Turn): Stretch[] {
  let failed = 0;
  const waitStretches = waits.map(({ kind, durationMs }): Stretch => {
    const detail = kind === "failed_attempt" ? (retries[failed++]?.reason ?? null) : null;
    return { kind, durationMs, detail };
  });
  const rest = waitedMs - waitStretches.reduce((sum, { durationMs }) => sum + durationMs, 0);
  // Less than a millisecond is measurement overhead.
  return rest < 1 ? waitStretches : [...waitStretches, { kind: "waiting", durationMs: rest, detail: null }];
}

export function sumByKind(segments: readonly TimelineSegment[]): { kind: TimelineKind; ms: number }[] {
  return TIMELINE_KINDS.flatMap((kind) => {
    const some = segments.filter((segment) => segment.kind === kind);
    return some.length === 0 ? [] : [{ kind, ms: some.reduce((sum, { durationMs }) => sum + durationMs, 0) }];
  });
}
