// One attempt at a task: runs the agent in its workspace within the time limit, and turns failures into endings.
import { openDeadline } from "../platform/deadline.js";
import { openWorkspace } from "../sandbox/workspace.js";
import type { Ending } from "../tasks/ending.js";
import type { AgentBackend, AgentTask } from "./agent-backend.js";
import type { Rollout, Transcript } from "./rollout.js";
import type { TaskAccess } from "./task-source.js";

interface AnswerAttempt {
  readonly task: Omit<AgentTask, "context">;
  readonly access: TaskAccess;
  readonly timeoutMs: number;
  /** Returns the ending for an error, or null for a bug in this program, which is rethrown. */
  endingOf(thrown: unknown): Ending | null;
}

export interface AttemptedAnswer {
  readonly times: { readonly startedAt: string; readonly endedAt: string; readonly durationMs: number };
  /** Includes the messages before a failure. */
  readonly rollout: Rollout;
  /** Reason for the missing answer, for the trace. */
  readonly error: string | null;
  readonly thrown: unknown;
}

/** Runs an agent in its own workspace with a time limit. Model failures become the rollout's ending. */
export async function attemptAnswer(
  agent: AgentBackend,
  { task, access, timeoutMs, endingOf }: AnswerAttempt,
  signal: AbortSignal,
): Promise<AttemptedAnswer> {
  const startedAt = new Date();
  const started = performance.now();
  const deadline = openDeadline(signal, timeoutMs, timeLimitReached);
  const workspace = openWorkspace();
  const transcript: Transcript = { messages: [], toolCalls: [], turns: [] };
  let rollout: Rollout;
  let error: string | null = null;
  let failure: unknown = null;
  try {
    const context = { signal: deadline.signal, workspace, ...access };
    const { reason = null, ...finished } = await agent.answer({ ...task, context }, transcript);
    rollout = finished;
    error = reason;
  } catch (thrown) {
    const ending = signal.aborted ? "interrupted" : deadline.hasPassed ? "timeout" : endingOf(thrown);
    if (ending === null) throw thrown;
    failure = thrown;
    error = ending === "timeout" ? `No answer within ${timeoutMs / 1000} s.` : (thrown as Error).message;
    rollout = { ...transcript, ending, answer: null, sources: [] };
  } finally {
    deadline.close();
    await workspace.close();
  }
  const endedAt = new Date().toISOString();
  const times = { startedAt: startedAt.toISOString(), endedAt, durationMs: performance.now() - started };
  return { times, rollout, error, thrown: failure };
}

/** Returns the abort reason for a task's deadline, which is the platform's TimeoutError. */
function timeLimitReached(): DOMException {
  return new DOMException("The operation was aborted due to timeout", "TimeoutError");
}
