import type { AgentBackend, Transcript } from "../../domain/agents/agent-backend.js";
import type { RateLimiter } from "../../models/middleware/rate-limiter.js";
import { retryFollowed } from "../../models/middleware/retry-model.js";
import { callThrottled } from "../../models/middleware/with-rate-limit.js";
import { DEFAULT_RETRY, type RetryPolicy } from "../../platform/retry.js";

/** Retries an external agent from the beginning; one answer counts as one call for the rate limiter. */
export function withAgentRetry(
  name: string,
  backend: AgentBackend,
  throttle: RateLimiter | null,
  policy: RetryPolicy = DEFAULT_RETRY,
): AgentBackend {
  return {
    async answer(task, transcript) {
      const { signal } = task.context;
      const startedAt = performance.now();
      let attemptedAt = startedAt;
      const attempt = () => {
        for (const list of [transcript.messages, transcript.toolCalls, transcript.turns]) list.length = 0;
        attemptedAt = performance.now();
        return backend.answer(task, transcript);
      };
      const { done, retries, waits } = await retryFollowed(
        name,
        (onProgress) => {
          if (throttle !== null) return callThrottled(throttle, attempt, tokensOf, signal, onProgress);
          onProgress({ type: "calling", waitedFor: null });
          return attempt();
        },
        signal,
        { policy, listener: task.onActivity },
      );
      const [first] = done.turns;
      first?.retries.push(...retries);
      // Time before the successful attempt.
      if (first !== undefined) Object.assign(first, { waitedMs: attemptedAt - startedAt, ...waits });
      return done;
    },
  };
}

function tokensOf({ turns }: Transcript): number {
  return turns.reduce((sum, { usage }) => sum + (usage === null ? 0 : usage.inputTokens + usage.outputTokens), 0);
}
