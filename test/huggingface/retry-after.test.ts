import { describe, expect, it } from "vitest";
import { retryAfterMs } from "../../src/huggingface/hub-http.js";

const NOW = Date.UTC(2026, 0, 1, 12, 0, 0);

describe("Retry-After", () => {
  it.each([
    [null, null],
    ["soon", null],
    ["0", 0],
    [" 12 ", 12_000],
    ["Thu, 01 Jan 2026 12:00:30 GMT", 30_000],
    ["Thu, 01 Jan 2026 11:00:00 GMT", 0],
  ])("%j asks for %j ms", (value, ms) => {
    expect(retryAfterMs(value, NOW)).toBe(ms);
  });
});
