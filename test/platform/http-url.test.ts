import { expect, test } from "vitest";
import { parseHttpUrl } from "../../src/platform/http.js";

test.each(["http://localhost:8000/v1", " https://example.com ", "https://[::1]/x?y#z"])("%j is an address", (text) => {
  expect(parseHttpUrl(text)?.href).toBe(new URL(text.trim()).href);
});

test.each([
  "",
  "localhost:8000",
  "ftp://example.com",
  "file:///etc",
  "https://me@example.com",
  "https://:pw@example.com",
])("%j is none", (text) => expect(parseHttpUrl(text)).toBeNull());
