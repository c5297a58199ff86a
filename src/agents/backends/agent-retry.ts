import type { AgentBackend, Transcript } from "../../domain/agents/agent-backend.js";
import type { CallProgress, LimitReason, Retry } from "../../domain/models/model.js";
import { CallWaits } from "../../models/middleware/call-waits.js";
import type { RateLimiter } from "../../models/middleware/rate-limiter.js";
import { retryWithPolicy } from "../../models/middleware/retry-model.js";
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
      let attemptedAt = performance.now();
      const waits = new CallWaits();
      const onProgress = (progress: CallProgress) => {
        waits.add(progress);
        task.onActivity?.(progress);
      };
      const attempt = (waitedFor: LimitReason | null) => {
        for (const list of [transcript.messages, transcript.toolCalls, transcript.turns]) list.length = 0;
        attemptedAt = performance.now();
        onProgress({ type: "calling", waitedFor });
        return backend.answer(task, transcript);
      };
      const limited = (limiter: RateLimiter) => {
        onProgress({ type: "queued" });
        return limiter.call(attempt, tokensOf, signal);
      };
      const once = throttle === null ? () => attempt(null) : () => limited(throttle);
      const startedAt = performance.now();
      const onRetry = (retry: Retry) => onProgress({ type: "retry", retry });
      const { done, retries } = await retryWithPolicy(name, once, signal, { policy, onRetry });
      const [first] = done.turns;
      first?.retries.push(...retries);
      // Time before the successful attempt.
      if (first !== undefined) Object.assign(first, { waitedMs: attemptedAt - startedAt, ...waits.toField() });
      return done;
    },
  };
}

function tokensOf({ turns }: Transcript): number {
  return turns.reduce((sum, { usage }) => sum + (usage === null ? 0 : usage.inputTokens + usage.outputTokens), 0);
}
