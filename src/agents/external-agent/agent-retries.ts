// Retries an external agent from scratch, within the rate limit of the run.
import { costWithRetries, retryFollowed } from "../../models/model-retries.js";
import { callThrottled, type RateLimiter } from "../../models/rate-limiter.js";
import { DEFAULT_RETRY, type RetryPolicy } from "../../platform/retry-delay.js";
import type { AgentBackend } from "../agent-backend.js";
import type { Transcript } from "../rollout.js";

/** Retries a failed external agent from scratch. One answer counts as one call for the rate limiter. */
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
        task.onActivity,
        policy,
      );
      const [first] = done.turns;
      if (first === undefined) return done;
      first.retries.push(...retries);
      // `waitedMs` is the time before the successful attempt.
      Object.assign(first, costWithRetries(first, retries), { waitedMs: attemptedAt - startedAt, ...waits });
      return done;
    },
  };
}

function tokensOf({ turns }: Transcript): number {
  return turns.reduce((sum, { usage }) => sum + (usage === null ? 0 : usage.inputTokens + usage.outputTokens), 0);
}
