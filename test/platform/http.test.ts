import { expect, it, test } from "vitest";
import {
  bearerTokenCheck,
  isAllowedHost,
  isLoopback,
  isOwnOrigin,
  parseHttpUrl,
  parseRetryAfter,
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
])("isOwnOrigin, for a page from %s and a server %s, returns %s", (origin, host, isOwn) => {
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

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

it.each([
  [undefined, null],
  [null, null],
  ["", null],
  ["soon", null],
  ["0", 0],
  [" 12 ", 12_000],
  ["0.5", 500],
  ["-3", 0],
  ["Thu, 01 Jan 2026 12:00:30 GMT", 30_000],
  ["Thu, 01 Jan 2026 11:00:00 GMT", 0],
])("parseRetryAfter reads %j as %j ms", (value, ms) => {
  expect(parseRetryAfter(value, NOW)).toBe(ms);
});
