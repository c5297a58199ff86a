import pLimit from "p-limit";
import { UserError } from "../domain/errors.js";
import { chunk } from "../platform/split-into-chunks.js";
import { type OtlpServer, postRequest } from "./post-request.js";
import type { ScoreApi } from "./score-api-names.js";
import type { ScoreRecord } from "./score-record.js";

/** Where scores go: the same server, with the same keys, as the spans. */
export interface ScoreDestination {
  readonly api: ScoreApi;
  readonly server: OtlpServer;
}

/** Annotations in one request to Phoenix. */
const AT_ONCE = 200;

/** Langfuse takes one score a request. */
const REQUESTS_AT_ONCE = 8;

/** @throws UserError where the address of the spans does not tell that of the scores */
export function scoreDestination(api: ScoreApi, server: OtlpServer): ScoreDestination {
  const [pattern, path] =
    api === "langfuse"
      ? [/\/api\/public\/otel\/v1\/traces$/, "/api/public/scores"]
      : [/\/v1\/traces$/, "/v1/trace_annotations"];
  const url = new URL(server.url);
  if (!pattern.test(url.pathname)) {
    throw new UserError(
      "scores_no_address",
      `--scores ${api}: ${url.origin}${url.pathname} is no address of ${api} that takes spans.`,
      api === "langfuse"
        ? "It is https://cloud.langfuse.com/api/public/otel, or the same path on your own server."
        : "It is http://localhost:6006, or the base of your own server.",
    );
  }
  url.pathname = url.pathname.replace(pattern, path);
  return { api, server: { ...server, url: url.href } };
}

/**
 * Sends scores; sent again, they replace those of the same trace and name. Returns how many.
 * @throws NotDelivered, or the signal's reason
 */
export async function deliverScores(
  { api, server }: ScoreDestination,
  scores: readonly ScoreRecord[],
  signal: AbortSignal,
): Promise<number> {
  const bodies: readonly object[] =
    api === "langfuse" ? scores.map(langfuseScore) : [...chunk(scores, AT_ONCE)].map(phoenixAnnotations);
  const sent = new AbortController();
  const stop = AbortSignal.any([signal, sent.signal]);
  try {
    await pLimit(REQUESTS_AT_ONCE).map(bodies, (body) => {
      const bytes = Buffer.from(JSON.stringify(body));
      return postRequest(server, { contentType: "application/json", bytes }, stop);
    });
    return scores.length;
  } finally {
    // After a refusal the others need not be sent.
    sent.abort();
  }
}

function langfuseScore({ traceId, name, value, explanation }: ScoreRecord) {
  return {
    id: `${traceId}-${name}`,
    traceId,
    name,
    value,
    dataType: "NUMERIC",
    ...(explanation === null ? {} : { comment: explanation }),
  };
}

function phoenixAnnotations(scores: readonly ScoreRecord[]) {
  return {
    data: scores.map(({ traceId, name, value, explanation, byModel }) => ({
      trace_id: traceId,
      name,
      annotator_kind: byModel ? "LLM" : "CODE",
      result: { score: value, ...(explanation === null ? {} : { explanation }) },
    })),
  };
}
