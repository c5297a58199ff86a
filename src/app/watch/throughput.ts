/** Tasks that finished earlier than this say nothing of the present rate. */
const WINDOW_MS = 15 * 60_000;

/** Fewer finished tasks say nothing of a rate. */
const FEWEST = 3;

/** A time that changes all the time would be sent all the time. */
const STEP_MS = 5_000;

export interface Pace {
  /** Null where too few tasks have finished lately to tell. */
  readonly tasksPerMinute: number | null;
  readonly msLeft: number | null;
}

/** @param endedAt when the newest tasks finished, in ms, in any order */
export function estimatePace(endedAt: readonly number[], tasksLeft: number, now: number): Pace {
  const recent = endedAt.filter((at) => at > now - WINDOW_MS);
  const first = Math.min(...recent);
  if (recent.length < FEWEST || first >= now) return { tasksPerMinute: null, msLeft: null };
  const perMs = (recent.length - 1) / (now - first);
  return { tasksPerMinute: perMs * 60_000, msLeft: Math.round(tasksLeft / perMs / STEP_MS) * STEP_MS };
}
