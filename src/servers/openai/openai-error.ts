import { z } from "zod";
import type { AnsweredChat } from "../../app/chat/answer-chat.js";
import type { ModelErrorKind } from "../../domain/models/model.js";
import { ApiError, type ErrorCode } from "../http/api-error.js";

/** The details of an ApiError that OpenAI's error format has fields for. */
const detailsSchema = z.object({
  type: z.string().optional(),
  code: z.string().optional(),
  hint: z.string().optional(),
  issues: z.array(z.object({ path: z.string() })).optional(),
});

/** Errors that a retry would not fix: clients retry 5xx, 408, 409 and 429, so these get another status. */
const PERMANENT: Readonly<Partial<Record<ModelErrorKind, readonly [ErrorCode, string]>>> = {
  bad_request: ["VALIDATION_ERROR", "upstream_bad_request"],
  context_overflow: ["VALIDATION_ERROR", "context_length_exceeded"],
  not_found: ["NOT_FOUND", "model_not_found"],
};

/** An error in OpenAI's format, with headers that say whether to retry. */
export function openaiError(error: ApiError, requestId: string) {
  const { type, code, hint, issues } = detailsSchema.safeParse(error.details).data ?? {};
  const { status } = error;
  return {
    body: {
      error: {
        message: hint === undefined ? error.message : `${error.message} ${hint}`,
        type: type ?? typeOf(status),
        param: issues?.[0]?.path || null,
        code: code ?? error.code.toLowerCase(),
        request_id: requestId,
      },
    },
    headers: { ...(status < 500 ? { "x-should-retry": "false" } : {}), ...error.headers },
  };
}

/** Null: the chat did not fail, even if the agent found no answer. */
export function chatFailure({ trace, failure }: AnsweredChat): ApiError | null {
  const message = trace.error ?? "";
  if (trace.ending === "timeout") {
    return new ApiError("EXTERNAL_API_ERROR", message, { type: "server_error", code: "timeout" }, NO_RETRY);
  }
  if (trace.ending === "interrupted") {
    return new ApiError("EXTERNAL_API_ERROR", message, { type: "server_error", code: "interrupted" });
  }
  if (trace.ending !== "model_error") return null;
  const type = "upstream_error";
  if (failure === null || failure.retryable) {
    const wait = failure?.retryAfterMs ?? null;
    const headers = wait === null ? {} : { "retry-after": String(Math.ceil(wait / 1000)) };
    return new ApiError("EXTERNAL_API_ERROR", message, { type, code: failure?.kind ?? "server" }, headers);
  }
  const [errorCode, code] = PERMANENT[failure.kind] ?? ["UPSTREAM_REFUSED", failure.kind];
  return new ApiError(errorCode, message, { type, code });
}

/** A chat that timed out would time out again. */
const NO_RETRY = { "x-should-retry": "false" };

/** OpenAI's error type for a status. */
function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
