import type { CallProgress, Model } from "../../domain/models/model.js";
import type { RateLimiter } from "./rate-limiter.js";

/** What is let through by the throttle, once it is; `onProgress` hears of both. */
export function callThrottled<T>(
  throttle: RateLimiter,
  call: () => Promise<T>,
  tokensOf: (done: T) => number,
  signal: AbortSignal,
  onProgress: ((progress: CallProgress) => void) | undefined,
): Promise<T> {
  onProgress?.({ type: "queued" });
  return throttle.call(
    (waitedFor) => {
      onProgress?.({ type: "calling", waitedFor });
      return call();
    },
    tokensOf,
    signal,
  );
}

/** The same model, its calls let through by the throttle. */
export function withRateLimit(model: Model, throttle: RateLimiter): Model {
  return {
    id: model.id,
    complete: (request, signal) =>
      callThrottled(
        throttle,
        () => model.complete(request, signal),
        ({ usage }) => (usage === null ? 0 : usage.inputTokens + usage.outputTokens),
        signal,
        request.onProgress,
      ),
  };
}
