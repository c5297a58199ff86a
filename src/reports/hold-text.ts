// Says why a running run does not go forward: paused, stopping or waiting. The terminal, the run's page and `art-e ctl`
// show it. Pages include this file.
import { count, counted, duration } from "../text/format.js";
import type { RunProcessState } from "../traces/progress.js";

export interface Hold {
  readonly state: "paused" | "stopping" | "waiting";
  /** A sentence without its full stop. */
  readonly text: string;
}

type RunningTask = RunProcessState["underWay"][number];

const WORDS = {
  paused: "Paused: running tasks finish, but no other task starts",
  stopping: "Stopping: running tasks finish, but no other task starts",
} as const;

const LONGEST_REASON = 120;

/**
 * Returns the reason why the run is held up, or null. A run waits if all of its running tasks wait to repeat a call.
 * @param now milliseconds since 1970
 */
export function holdOf(process: RunProcessState, now: number): Hold | null {
  const { state } = process;
  const waiting = waitText(process, now);
  const why = waiting === null ? "" : `. ${waiting}`;
  if (state !== "running") return { state, text: `${WORDS[state]}${why}` };
  const isHeld = waiting !== null && process.underWay.every((task) => waitsUntil(task, now) !== null || isQueued(task));
  return isHeld ? { state: "waiting", text: `Waiting: ${waiting}` } : null;
}

/** Formats `2 of 8 tasks repeat a call after "429 Too Many Requests", next try in 4 s`, or null if none does. */
export function waitText({ underWay, underWayCount }: RunProcessState, now: number): string | null {
  const ends = underWay.flatMap((task) => waitsUntil(task, now) ?? []);
  const [newest] = underWay
    .flatMap(({ activity, since }) => (activity?.type === "retry" ? [{ since, ...activity.retry }] : []))
    .sort((a, b) => (a.since < b.since ? 1 : -1));
  if (newest === undefined || ends.length === 0) return null;
  const reason = newest.reason.replace(/\s+/g, " ").slice(0, LONGEST_REASON);
  const which = `${count(ends.length)} of ${counted(underWayCount, "task")}`;
  return `${reason}; next try in ${secondsText(Math.min(...ends) - now)} (${which})`;
}

/** Formats whole seconds, rounded up. */
export function secondsText(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  return seconds < 60 ? `${seconds} s` : duration(1_000 * seconds);
}

/** Returns the end of a task's wait before it repeats a call, or null if it is not waiting. */
export function waitsUntil({ activity, since }: RunningTask, now: number): number | null {
  if (activity?.type !== "retry") return null;
  return Math.max(now, Date.parse(since) + activity.retry.waitedMs);
}

/** Whether a task waits for others, for example because the server requested a pause. */
function isQueued({ activity }: RunningTask): boolean {
  return activity?.type === "queued";
}
