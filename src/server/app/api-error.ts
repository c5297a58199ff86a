// Errors of the API: their codes and statuses, and the conversion of anything thrown.
import { NoteConflict } from "../../error-analysis/coding.js";
import { LabelConflict } from "../../evals/labeling.js";
import { UserError } from "../../platform/errors.js";
import { snakeKeys } from "../response-shapes.js";

/** HTTP status per error code. The first five codes come from the compatible API. */
const STATUS = {
  VALIDATION_ERROR: 400,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  INTERNAL_ERROR: 500,
  EXTERNAL_API_ERROR: 503,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  /** A server that this one depends on refused the request, and a retry would not help. */
  UPSTREAM_REFUSED: 424,
  OVERLOADED: 503,
} as const;

export type ErrorCode = keyof typeof STATUS;

/** Thrown for a request that is not served. The message is for the client. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** Any JSON value. */
    readonly details: unknown = null,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  get status(): (typeof STATUS)[ErrorCode] {
    return STATUS[this.code];
  }
}

/**
 * Throws if somebody else saved an agent or a tool since the client loaded it. The client sends back the version and
 * the time that it loaded. A client that sends neither does not ask for this check.
 */
export function refuseStale(
  kind: "agent" | "tool",
  current: { readonly id: string; readonly version?: number; readonly updated_at: string },
  { version, updated_at }: { readonly version?: number | undefined; readonly updated_at?: string | undefined },
): void {
  const isUnchanged =
    (version ?? current.version) === current.version && (updated_at ?? current.updated_at) === current.updated_at;
  if (isUnchanged) return;
  const now = current.version === undefined ? "" : ` (now version ${current.version})`;
  throw new ApiError("CONFLICT", `${current.id} has been changed since it was loaded${now}.`, {
    reason: `${kind}_conflict`,
    hint: `Load the ${kind} again and repeat the change.`,
    current,
  });
}

/** API codes for UserError codes. All other UserErrors become VALIDATION_ERROR. */
const CODES = new Map<string, ErrorCode>([
  ["agent_exists", "ALREADY_EXISTS"],
  ["tool_exists", "ALREADY_EXISTS"],
  ["tool_attached", "ALREADY_EXISTS"],
  ["agent_unknown", "NOT_FOUND"],
  ["tool_unknown", "NOT_FOUND"],
  ["trace_unknown", "NOT_FOUND"],
  ["eval_unknown", "NOT_FOUND"],
  ["run_unknown", "NOT_FOUND"],
  ["session_unknown", "NOT_FOUND"],
  ["version_unknown", "NOT_FOUND"],
  ["feedback_unknown", "NOT_FOUND"],
  ["tool_not_attached", "NOT_FOUND"],
  ["mail_unknown", "NOT_FOUND"],
  ["corpus_unknown", "NOT_FOUND"],
  ["question_unknown", "NOT_FOUND"],
  ["tool_in_use", "CONFLICT"],
  ["tool_last", "CONFLICT"],
  ["agent_builtin", "CONFLICT"],
  ["tool_builtin", "CONFLICT"],
  ["review_conflict", "CONFLICT"],
  ["note_conflict", "CONFLICT"],
  ["label_conflict", "CONFLICT"],
]);

/** Converts anything thrown into a response. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof UserError && thrown.exitCode === 2) {
    const { code, message, hint } = thrown;
    return new ApiError(CODES.get(code) ?? "VALIDATION_ERROR", message, { reason: code, hint, ...currentOf(thrown) });
  }
  return internalError();
}

/** Returns the note or label that is in the way of a new one. */
function currentOf(thrown: UserError) {
  const isConflict = thrown instanceof NoteConflict || thrown instanceof LabelConflict;
  return isConflict ? { current: snakeKeys(thrown.current) } : {};
}

/** A bug in this program. The client receives no details. */
export function internalError(): ApiError {
  return new ApiError("INTERNAL_ERROR", "Internal server error. See the server's log.");
}
