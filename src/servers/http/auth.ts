import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { ApiError } from "./api-error.js";

/** Who may ask. */
export interface Access {
  /** The address that is listened on. */
  readonly host: string;
  /** Null: everyone who can reach the address. */
  readonly token: string | null;
  /** The one origin besides our own whose pages may ask; null: none. */
  readonly cors: string | null;
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

/**
 * On a loopback address the request must name it as its host: a foreign name that was made to resolve to this machine
 * (DNS rebinding) is not it.
 */
export function checkHost({ host }: Access): MiddlewareHandler {
  return async (c, next) => {
    const asked = hostname(c.req.header("host"));
    if (isLoopback(host) && (asked === null || !isLoopback(asked))) {
      throw new ApiError("FORBIDDEN", "This server answers to localhost only.");
    }
    await next();
  };
}

/** A browser names the page that asks; it must be one of ours, or the one that --cors allows. */
export function checkOrigin({ cors }: Access): MiddlewareHandler {
  return async (c, next) => {
    const origin = c.req.header("origin");
    if (origin !== undefined && origin !== cors && hostOf(origin) !== c.req.header("host")?.toLowerCase()) {
      throw new ApiError("FORBIDDEN", "Pages of other origins may not ask this server.");
    }
    await next();
  };
}

/** `Authorization: Bearer TOKEN`, compared in a time that says nothing about how much of it was right. */
export function checkToken({ token }: Access): MiddlewareHandler {
  const wanted = token === null ? null : digest(token);
  return async (c, next) => {
    const [, given = ""] = /^Bearer +(\S+)\s*$/i.exec(c.req.header("authorization") ?? "") ?? [];
    if (wanted !== null && !timingSafeEqual(digest(given), wanted)) {
      throw new ApiError("UNAUTHORIZED", "A token is needed: Authorization: Bearer TOKEN.", null, {
        "www-authenticate": "Bearer",
      });
    }
    await next();
  };
}

/** Bodies are JSON and say so: what a form of a foreign page can send is none. */
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

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function hostname(host: string | undefined): string | null {
  return host === undefined || !URL.canParse(`http://${host}`) ? null : new URL(`http://${host}`).hostname;
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
