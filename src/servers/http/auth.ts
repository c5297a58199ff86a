import type { MiddlewareHandler } from "hono";
import { bearerTokenCheck, isAllowedHost, isOwnOrigin } from "../../platform/http/host-and-origin.js";
import { ApiError } from "./api-error.js";

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
