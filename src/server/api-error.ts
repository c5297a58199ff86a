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

/** Of the codes of UserErrors; those of all others are VALIDATION_ERROR. */
const CODES = new Map<string, ErrorCode>([
  ["agent_exists", "ALREADY_EXISTS"],
  ["tool_exists", "ALREADY_EXISTS"],
  ["tool_attached", "ALREADY_EXISTS"],
  ["agent_unknown", "NOT_FOUND"],
  ["tool_unknown", "NOT_FOUND"],
  ["trace_unknown", "NOT_FOUND"],
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
]);

/** What was thrown as a response. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof UserError && thrown.exitCode === 2) {
    const { code, message, hint } = thrown;
    return new ApiError(CODES.get(code) ?? "VALIDATION_ERROR", message, { reason: code, hint });
  }
  return internalError();
}

/** A fault of this program, of which the client is told no more. */
export function internalError(): ApiError {
  return new ApiError("INTERNAL_ERROR", "The server could not do this; its log says why.");
}
