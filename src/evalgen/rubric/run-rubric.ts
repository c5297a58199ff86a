import { performance } from "node:perf_hooks";
import pLimit from "p-limit";
import type { EvalOf } from "../../domain/evals/eval-definition.js";
import { failedOutcome, type MeasuredOutcome } from "../../domain/evals/eval-outcome.js";
import type { EvaluatedTrace } from "../../domain/evals/evaluated-trace.js";
import type { Model } from "../../domain/models/model.js";
import type { JsonFileCache } from "../../models/middleware/json-file-cache.js";
import { traceDigest } from "../trace-digest.js";
import {
  RUBRIC_VERSION,
  type RubricResult,
  readRubricReply,
  rubricRequest,
  rubricResultSchema,
} from "./rubric-request.js";

/** Traces asked about at once; the model's rate limiter finds out how many its server takes. */
const CONCURRENCY = 20;
/** Of one trace that the model is shown. */
const MAX_CHARS = 16_000;

const SCORES: Readonly<Record<RubricResult["result"], number | null>> = { pass: 1, fail: 0, not_applicable: null };

/**
 * Has a model check each trace against a rubric. Results are cached, so that no trace is paid for twice. A failed call
 * or an unreadable reply is an error of its outcome; throws only the signal's reason.
 */
export async function runRubric(
  { rubric }: Pick<EvalOf<"rubric">, "rubric">,
  traces: readonly EvaluatedTrace[],
  { model, server, cache }: { readonly model: Model; readonly server: string | null; readonly cache: JsonFileCache },
  signal: AbortSignal,
): Promise<MeasuredOutcome[]> {
  return pLimit(CONCURRENCY).map(traces, async (trace) => {
    signal.throwIfAborted();
    const shown = traceDigest(trace, MAX_CHARS);
    const key = ["rubric", RUBRIC_VERSION, model.id, server, rubric, shown];
    const cached = rubricResultSchema.safeParse(cache.get(key)).data;
    if (cached !== undefined) return outcomeOf(cached, { ms: 0, costUsd: 0 });
    const start = performance.now();
    try {
      const reply = await model.complete(rubricRequest(rubric, shown), signal);
      const took = { ms: performance.now() - start, costUsd: reply.costUsd ?? null };
      const result = readRubricReply(reply);
      if (result === null) return { ...failedOutcome("the model's reply could not be read"), ...took };
      await cache.put(key, result);
      return outcomeOf(result, took);
    } catch (error) {
      signal.throwIfAborted();
      return { ...failedOutcome((error as Error).message), ms: performance.now() - start };
    }
  });
}

function outcomeOf({ result, reason }: RubricResult, took: Pick<MeasuredOutcome, "ms" | "costUsd">): MeasuredOutcome {
  return { score: SCORES[result], reason: reason.slice(0, 500), error: null, ...took };
}
