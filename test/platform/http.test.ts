import { describe, expect, it, test } from "vitest";
import {
  bearerTokenCheck,
  isAllowedHost,
  isLoopback,
  isOwnOrigin,
  parseHttpUrl,
  requestedWait,
} from "../../src/platform/http.js";

it.each(["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "LOCALHOST"])("isLoopback accepts %s", (host) => {
  expect(isLoopback(host)).toBe(true);
});

it.each(["0.0.0.0", "localhost.example", "127.0.0.1.example", "::2", "169.254.1.1", ""])(
  "isLoopback rejects %j",
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);

it("isAllowedHost accepts only loopback names if the address is a loopback address, and otherwise every name", () => {
  for (const host of ["localhost", "127.0.0.1:8787", "[::1]:9"]) expect(isAllowedHost("127.0.0.1", host)).toBe(true);
  for (const host of ["evil.example:8787", "", undefined]) expect(isAllowedHost("127.0.0.1", host)).toBe(false);
  expect(isAllowedHost("0.0.0.0", "art-e.example")).toBe(true);
});

it.each([
  ["http://127.0.0.1:8787", "127.0.0.1:8787", true],
  ["http://localhost:8787", "127.0.0.1:8787", true],
  ["http://localhost", "localhost", true],
  ["https://art-e.example", "ART-E.example", true],
  ["http://localhost:3000", "127.0.0.1:8787", false],
  ["https://localhost:8787", "127.0.0.1:8787", false],
  ["http://127.0.0.1", "127.0.0.1:8787", false],
  ["http://evil.example", "art-e.example", false],
  ["null", "127.0.0.1:8787", false],
  ["http://localhost", undefined, false],
])("isOwnOrigin returns for a page from %s and a server %s the value %s", (origin, host, isOwn) => {
  expect(isOwnOrigin(origin, host)).toBe(isOwn);
});

it("bearerTokenCheck compares the entire token", () => {
  const isToken = bearerTokenCheck("a-secret");
  expect(isToken("Bearer a-secret")).toBe(true);
  expect(isToken("bearer  a-secret ")).toBe(true);
  for (const wrong of ["Bearer a-secre", "Bearer a-secretx", "Basic a-secret", "a-secret", "", undefined]) {
    expect(isToken(wrong)).toBe(false);
  }
});

test.each(["http://localhost:8000/v1", " https://example.com ", "https://[::1]/x?y#z"])(
  "parseHttpUrl accepts %j",
  (text) => {
    expect(parseHttpUrl(text)?.href).toBe(new URL(text.trim()).href);
  },
);

test.each([
  "",
  "localhost:8000",
  "ftp://example.com",
  "file:///etc",
  "https://me@example.com",
  "https://:pw@example.com",
])("parseHttpUrl rejects %j", (text) => expect(parseHttpUrl(text)).toBeNull());

/** The server's clock, two hours behind. */
const DATE = { date: "Thu, 01 Jan 2026 12:00:00 GMT" };
const UNIX = Date.UTC(2026, 0, 1, 12, 0, 30) / 1000;

describe("requestedWait", () => {
  it.each<[Record<string, string>, number | null]>([
    [{}, null],
    [{ "retry-after": "" }, null],
    [{ "retry-after": "soon" }, null],
    [{ "retry-after": "0" }, null],
    [{ "retry-after": "-3" }, null],
    [{ "retry-after": " 12 " }, 12_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after": "Thu, 01 Jan 2026 12:00:30 GMT" }, 30_000],
    [{ "retry-after": "Thu, 01 Jan 2026 11:00:00 GMT" }, null],
    [{ "retry-after": String(UNIX) }, 30_000],
    [{ "retry-after": String(UNIX * 1000) }, 30_000],
    [{ "retry-after": "60", "retry-after-ms": "1250.5" }, 1250.5],
    [{ "retry-after": "60", "retry-after-ms": "x" }, 60_000],
    [{ "x-ms-retry-after-ms": "700" }, 700],
    [{ "x-ratelimit-reset-requests": "1m26.4s" }, 86_400],
    [{ "x-ratelimit-reset-tokens": "6ms" }, 6],
    [{ "x-ratelimit-reset-tokens": "7", "x-ratelimit-remaining-tokens": "0" }, 7_000],
    [{ "x-ratelimit-reset-tokens": "7s", "x-ratelimit-remaining-tokens": "90" }, null],
    [{ "x-ratelimit-reset": String(UNIX * 1000) }, 30_000],
    [{ ratelimit: '"default";r=0;t=30' }, 30_000],
    [{ ratelimit: '"default";r=5;t=30' }, null],
    [{ "anthropic-ratelimit-input-tokens-reset": "2026-01-01T12:00:20Z" }, 20_000],
    [{ "retry-after": "2", "x-ratelimit-reset-tokens": "40s" }, 2_000],
  ])("reads %j as %j ms on the server's clock", (headers, ms) => {
    expect(requestedWait(new Headers({ ...DATE, ...headers }), true)).toBe(ms);
  });

  it("ignores the reset of a limit for any other error", () => {
    expect(requestedWait(new Headers({ "x-ratelimit-reset-requests": "40s" }))).toBeNull();
  });
});
