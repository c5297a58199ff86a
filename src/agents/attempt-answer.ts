import { openDeadline } from "../platform/deadline.js";
import { openWorkspace, type Workspace } from "../sandbox/workspace.js";
import type { Ending } from "../tasks/ending.js";
import type { Rollout, Transcript } from "./agent.js";

export interface AnswerAttempt {
  readonly timeoutMs: number;
  /** Fills the transcript, which comes empty, as it goes, and throws as an `AgentBackend` does. */
  run(transcript: Transcript, signal: AbortSignal, workspace: Workspace): Promise<Rollout>;
  /** The ending that an error stands for; null: a fault of this program, which is thrown on. */
  endingOf(thrown: unknown): Ending | null;
}

export interface AttemptedAnswer {
  readonly times: { readonly startedAt: string; readonly endedAt: string; readonly durationMs: number };
  /** What was said before a failure stays in it. */
  readonly rollout: Rollout;
  /** Why there is no answer, for the trace. */
  readonly error: string | null;
  readonly thrown: unknown;
}

/**
 * Lets an agent answer in a workspace of its own and until its time is over; failures of the model become the ending.
 */
export async function attemptAnswer(attempt: AnswerAttempt, signal: AbortSignal): Promise<AttemptedAnswer> {
  const startedAt = new Date();
  const started = performance.now();
  const deadline = openDeadline(signal, attempt.timeoutMs, timeLimitReached);
  const workspace = openWorkspace();
  const transcript: Transcript = { messages: [], toolCalls: [], turns: [] };
  let rollout: Rollout;
  let error: string | null = null;
  let failure: unknown = null;
  try {
    const { reason = null, ...finished } = await attempt.run(transcript, deadline.signal, workspace);
    rollout = finished;
    error = reason;
  } catch (thrown) {
    const ending = outerEnding(signal, deadline.hasPassed) ?? attempt.endingOf(thrown);
    if (ending === null) throw thrown;
    failure = thrown;
    error = ending === "timeout" ? `No answer within ${attempt.timeoutMs / 1000} s.` : (thrown as Error).message;
    rollout = { ...transcript, ending, answer: null, sources: [] };
  } finally {
    deadline.close();
    await workspace.close();
  }
  const endedAt = new Date().toISOString();
  const times = { startedAt: startedAt.toISOString(), endedAt, durationMs: performance.now() - started };
  return { times, rollout, error, thrown: failure };
}

function outerEnding(interrupted: AbortSignal, isTimeOver: boolean): Ending | null {
  if (interrupted.aborted) return "interrupted";
  return isTimeOver ? "timeout" : null;
}

/** The abort reason of a task's deadline: the platform's TimeoutError. */
function timeLimitReached(): DOMException {
  return new DOMException("The operation was aborted due to timeout", "TimeoutError");
}
