import { createHash, timingSafeEqual } from "node:crypto";

/** Checks of who may send requests to a server of this machine: by Host, Origin and bearer token. */

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

/**
 * A server on a loopback address accepts only loopback names as Host. Otherwise a page could have a name of its own
 * resolve to this machine (DNS rebinding) and then count as same-origin.
 */
export function isAllowedHost(listenHost: string, hostHeader: string | undefined): boolean {
  return !isLoopback(listenHost) || isLoopback(parseHost(hostHeader)?.hostname ?? "");
}

/** Whether the page that a browser names as Origin was served by the server that is named as Host. */
export function isOwnOrigin(origin: string, hostHeader: string | undefined): boolean {
  const page = URL.parse(origin);
  const server = parseHost(hostHeader);
  if (page === null || server === null) return false;
  // Behind a proxy that ends TLS, the scheme differs.
  if (page.host === hostHeader?.toLowerCase()) return true;
  const isHttpLoopback = page.protocol === "http:" && isLoopback(page.hostname) && isLoopback(server.hostname);
  return isHttpLoopback && page.port === server.port;
}

/** Tests an Authorization header for `Bearer TOKEN`, in a time that does not depend on how much of it is right. */
export function bearerTokenCheck(token: string): (authorization: string | undefined) => boolean {
  const expected = digest(token);
  return (authorization) => {
    const [, sent = ""] = /^Bearer +(\S+)\s*$/i.exec(authorization ?? "") ?? [];
    return timingSafeEqual(digest(sent), expected);
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function parseHost(hostHeader: string | undefined): URL | null {
  return hostHeader === undefined || hostHeader === "" ? null : URL.parse(`http://${hostHeader}`);
}
