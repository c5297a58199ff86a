import { describe, expect, it } from "vitest";
import { cleanEnvironment } from "../../src/tools/external-tool.js";

describe("cleanEnvironment", () => {
  const env = { PATH: "/bin", HOME: "/home/ann", TOOL_KEY: "key", OTHER_KEY: "secret" };

  it("contains the named variables, and PATH, HOME and LANG if they are set", () => {
    expect(cleanEnvironment(["TOOL_KEY"], env)).toEqual({
      ok: true,
      values: { PATH: "/bin", HOME: "/home/ann", TOOL_KEY: "key" },
    });
  });

  it("names a variable that is not set or empty", () => {
    expect(cleanEnvironment(["TOOL_KEY", "MISSING"], env)).toEqual({ ok: false, missing: "MISSING" });
    expect(cleanEnvironment(["TOOL_KEY"], { ...env, TOOL_KEY: "" })).toEqual({ ok: false, missing: "TOOL_KEY" });
  });
});
