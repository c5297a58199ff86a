import type { Transcript } from "../../../domain/agents/agent-backend.js";
import { ModelError, NO_USAGE } from "../../../domain/models/model.js";
import type { Ending } from "../../../domain/tasks/task-ending.js";
import { failsEveryTask } from "../detect-dead-server.js";

/** Null: a bug of this program, which must not be recorded as a failure of the model. */
export function endingOfFailure(thrown: unknown): Ending | null {
  // A replay throws the time-out that was recorded.
  if (thrown instanceof DOMException && thrown.name === "TimeoutError") return "timeout";
  // The task itself is fine: it is left for a resume with a working key or model name.
  if (failsEveryTask(thrown) !== null) return "interrupted";
  return thrown instanceof ModelError ? "model_error" : null;
}

/** Attempts before a final failure belong to no turn: the trace records them as an incomplete one. */
export function chargeFailedRetries(transcript: Transcript, thrown: unknown): void {
  if (!(thrown instanceof ModelError) || thrown.retries.length === 0) return;
  transcript.turns.push({
    startedAt: new Date().toISOString(),
    latencyMs: 0,
    waitedMs: thrown.retries.reduce((sum, { waitedMs }) => sum + waitedMs, 0),
    finishReason: "other",
    rawFinishReason: thrown.kind,
    usage: NO_USAGE,
    costUsd: 0,
    retries: [...thrown.retries],
    cached: false,
  });
}
