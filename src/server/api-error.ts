import type { MiddlewareHandler } from "hono";
import { UserError } from "../platform/errors.js";
import { bearerTokenCheck, isAllowedHost, isOwnOrigin } from "../platform/http.js";

/** Who may send requests. */
export interface Access {
  /** The address that is listened on. */
  readonly host: string;
  /** Null: no token is needed. */
  readonly token: string | null;
  /** The one other origin whose pages may send requests; null: none. */
  readonly cors: string | null;
}

export function checkHost({ host }: Access): MiddlewareHandler {
  return async (c, next) => {
    if (!isAllowedHost(host, c.req.header("host"))) {
      throw new ApiError("FORBIDDEN", "This server answers to localhost only.");
    }
    await next();
  };
}

export function checkOrigin({ cors }: Access): MiddlewareHandler {
  return async (c, next) => {
    const origin = c.req.header("origin");
    if (origin !== undefined && origin !== cors && !isOwnOrigin(origin, c.req.header("host"))) {
      throw new ApiError("FORBIDDEN", "Pages of other origins may not ask this server.");
    }
    await next();
  };
}

/** Not hono's bearerAuth: the MCP listener, which is no hono app, checks its token the same way. */
export function checkToken({ token }: Access): MiddlewareHandler {
  const isToken = token === null ? () => true : bearerTokenCheck(token);
  return async (c, next) => {
    if (!isToken(c.req.header("authorization"))) {
      throw new ApiError("UNAUTHORIZED", "A token is needed: Authorization: Bearer TOKEN.", null, {
        "www-authenticate": "Bearer",
      });
    }
    await next();
  };
}

/** Refuses bodies that are not JSON: forms, which pages of other origins can send without a preflight, never are. */
export function checkContentType(): MiddlewareHandler {
  return async (c, next) => {
    const hasBody = c.req.header("content-length") !== undefined || c.req.header("transfer-encoding") !== undefined;
    const isJson = /^application\/json\s*(;|$)/i.test(c.req.header("content-type") ?? "");
    const isEmpty = c.req.header("content-length") === "0";
    if (hasBody && !isEmpty && !isJson) {
      throw new ApiError("UNSUPPORTED_MEDIA_TYPE", "A body must be sent as application/json.");
    }
    await next();
  };
}

/** The HTTP status of each code. The first five are those of the API that this one is compatible with. */
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
  /** A server that this one depends on refuses; a retry would not help. */
  UPSTREAM_REFUSED: 424,
  OVERLOADED: 503,
} as const;

export type ErrorCode = keyof typeof STATUS;

/** A request that is not served; the message is for the client. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** JSON, or null. */
    readonly details: unknown = null,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  get status(): (typeof STATUS)[ErrorCode] {
    return STATUS[this.code];
  }
}

const EXISTS_CODES: ReadonlySet<string> = new Set(["agent_exists", "tool_exists", "tool_attached"]);
const NOT_FOUND_CODES: ReadonlySet<string> = new Set([
  "agent_unknown",
  "tool_unknown",
  "trace_unknown",
  "run_unknown",
  "session_unknown",
  "version_unknown",
  "feedback_unknown",
  "tool_not_attached",
  "mail_unknown",
  "corpus_unknown",
  "question_unknown",
]);
const CONFLICT_CODES: ReadonlySet<string> = new Set([
  "tool_in_use",
  "tool_last",
  "agent_builtin",
  "tool_builtin",
  "review_conflict",
]);

/** What was thrown as a response. The message of an internal error is not sent. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof UserError && thrown.exitCode === 2) {
    return new ApiError(codeOf(thrown.code), thrown.message, { reason: thrown.code, hint: thrown.hint });
  }
  return new ApiError("INTERNAL_ERROR", "The server could not do this; its log says why.");
}

function codeOf(code: string): ErrorCode {
  if (EXISTS_CODES.has(code)) return "ALREADY_EXISTS";
  if (NOT_FOUND_CODES.has(code)) return "NOT_FOUND";
  return CONFLICT_CODES.has(code) ? "CONFLICT" : "VALIDATION_ERROR";
}
