import { sumByKind, type TimelineKind, type TimelineSegment } from "../../domain/runs/timeline-segment.js";
import { duration } from "./format-number.js";

/** What each kind of time is called. */
export const TIMELINE_WORDS: Readonly<Record<TimelineKind, string>> = {
  model: "model",
  tool: "tools",
  slot: "waiting for a slot",
  throttled: "throttled",
  failed_attempt: "failed attempts",
  pause: "pauses before retries",
  waiting: "waiting",
  other: "other",
};

const LETTERS: Readonly<Record<TimelineKind, string>> = {
  model: "M",
  tool: "t",
  slot: "s",
  throttled: "~",
  failed_attempt: "x",
  pause: ".",
  waiting: "w",
  other: "-",
};

/** Characters of the line; a stretch shorter than half of one is not seen in it. */
const WIDTH = 60;

/** A line of time, a letter for what most of each part of it went into, and what the letters mean. None without time. */
export function timelineText(segments: readonly TimelineSegment[]): string[] {
  const total = segments.reduce((sum, { durationMs }) => sum + durationMs, 0);
  if (total === 0) return [];
  const at = (ms: number) => Math.round((ms / total) * WIDTH);
  const line = segments.map(({ kind, startMs, durationMs }) =>
    LETTERS[kind].repeat(at(startMs + durationMs) - at(startMs)),
  );
  const legend = sumByKind(segments).map(({ kind, ms }) => `${LETTERS[kind]} ${TIMELINE_WORDS[kind]} ${duration(ms)}`);
  return [line.join(""), legend.join(", ")];
}
