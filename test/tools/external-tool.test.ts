import { describe, expect, it } from "vitest";
import { z } from "zod";
import { cleanEnvironment, commandTool, headersSchema, limitsShape } from "../../src/tools/external-tool.js";
import { serverSchema } from "../../src/tools/mcp-tool.js";

describe("cleanEnvironment", () => {
  const env = { PATH: "/bin", HOME: "/home/ann", TOOL_KEY: "key", OTHER_KEY: "secret" };

  it("contains the named variables, and PATH, HOME and LANG if they are set", () => {
    expect(cleanEnvironment(["TOOL_KEY"], env)).toEqual({
      ok: true,
      values: { PATH: "/bin", HOME: "/home/ann", TOOL_KEY: "key" },
    });
  });

  it("names a variable without a value", () => {
    expect(cleanEnvironment(["TOOL_KEY", "MISSING"], env)).toEqual({ ok: false, missing: "MISSING" });
    expect(cleanEnvironment(["TOOL_KEY"], { ...env, TOOL_KEY: "" })).toEqual({ ok: false, missing: "TOOL_KEY" });
  });
});

describe("limitsShape", () => {
  const limits = z.strictObject(limitsShape);

  it("returns the documented defaults", () => {
    expect(limits.parse({})).toEqual({ timeoutMs: 30_000, maxBytes: 1_000_000, maxResultChars: 20_000 });
  });

  it.each([
    ["timeoutMs", 1, 600_000],
    ["maxBytes", 1, 100_000_000],
    ["maxResultChars", 100, 1_000_000],
  ])("accepts %s from %i to %i", (name, least, most) => {
    const isValid = (value: number) => limits.safeParse({ [name]: value }).success;
    expect([least - 1, least, most, most + 1].map(isValid)).toEqual([false, true, true, false]);
  });
});

describe("serverSchema", () => {
  it("accepts up to 100 environment variables", () => {
    const isValid = (count: number) =>
      serverSchema.safeParse({ command: ["server"], env: Array.from({ length: count }, (_, i) => `V${i}`) }).success;
    expect([0, 100, 101].map(isValid)).toEqual([true, true, false]);
  });
});

describe("headersSchema", () => {
  it("accepts values of up to 4,000 characters without line breaks", () => {
    const isValid = (value: string) => headersSchema.safeParse({ "X-Team": value }).success;
    expect(["x".repeat(4_000), "x".repeat(4_001), "a\nb"].map(isValid)).toEqual([true, false, false]);
  });
});

describe("commandTool", () => {
  it("requires a program, and can have a folder and environment variables", () => {
    const isValid = (config: object) => commandTool.config.safeParse(config).success;
    expect(isValid({ command: ["python3", "tool.py"], cwd: "tools/mail", env: ["TOOL_KEY"] })).toBe(true);
    expect(isValid({ command: ["python3"], cwd: "" })).toBe(false);
    expect(isValid({ command: ["python3"], env: ["not a name"] })).toBe(false);
    expect([[], [""], ["a\0b"]].map((command) => isValid({ command }))).toEqual([false, false, false]);
    const words = (count: number) => Array.from({ length: count }, () => "word");
    expect([200, 201].map((count) => isValid({ command: words(count) }))).toEqual([true, false]);
  });
});
