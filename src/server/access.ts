// Access control of the server: checks of host, origin, token and content type.
import type { MiddlewareHandler } from "hono";
import { bearerTokenCheck, isAllowedHost, isOwnOrigin } from "../platform/http.js";
import { ApiError } from "./app/api-error.js";

/** Restrictions on who can send requests. */
export interface Access {
  /** The host that the server listens on. */
  readonly host: string;
  /** The required token, or null. */
  readonly token: string | null;
  /** The only other origin whose pages can send requests, or null. */
  readonly cors: string | null;
}

export function checkHost({ host }: Access): MiddlewareHandler {
  return async (c, next) => {
    if (!isAllowedHost(host, c.req.header("host"))) {
      throw new ApiError("FORBIDDEN", "This server only accepts requests to localhost.");
    }
    await next();
  };
}

export function checkOrigin({ cors }: Access): MiddlewareHandler {
  return async (c, next) => {
    const origin = c.req.header("origin");
    if (origin !== undefined && origin !== cors && !isOwnOrigin(origin, c.req.header("host"))) {
      throw new ApiError("FORBIDDEN", "This server does not accept requests from pages of other origins.");
    }
    await next();
  };
}

/** Does not use hono's bearerAuth, because the MCP listener is not a hono app and must check its token the same way. */
export function checkToken({ token }: Access): MiddlewareHandler {
  const isToken = token === null ? () => true : bearerTokenCheck(token);
  return async (c, next) => {
    if (!isToken(c.req.header("authorization"))) {
      throw new ApiError("UNAUTHORIZED", "Missing or wrong token. Send Authorization: Bearer TOKEN.", null, {
        "www-authenticate": "Bearer",
      });
    }
    await next();
  };
}

/**
 * Refuses bodies that are not JSON. Pages of other origins can send forms without a CORS preflight, and forms are never
 * JSON.
 */
export function checkContentType(): MiddlewareHandler {
  return async (c, next) => {
    const hasBody = c.req.header("content-length") !== undefined || c.req.header("transfer-encoding") !== undefined;
    const isJson = /^application\/json\s*(;|$)/i.test(c.req.header("content-type") ?? "");
    const isEmpty = c.req.header("content-length") === "0";
    if (hasBody && !isEmpty && !isJson) {
      throw new ApiError("UNSUPPORTED_MEDIA_TYPE", "The body must be application/json.");
    }
    await next();
  };
}
