import type { TimelineSegment } from "./timeline-segment.js";
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
