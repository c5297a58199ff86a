import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readSettingsState, stripJsonComments } from "../../src/suites/accounts.js";
import { writeSuite } from "./write-suite.js";

describe("comments of settings", () => {
  it.each([
    ['{"a": 1} // end', '{"a": 1} '],
    ['// first\n{"a": 1 // one\n}', '\n{"a": 1 \n}'],
    ['{"url": "https://x.example"}', '{"url": "https://x.example"}'],
    ['{"quote": "\\"// no comment"}', '{"quote": "\\"// no comment"}'],
    ['{"back": "\\\\"} // yes', '{"back": "\\\\"} '],
  ])("in %j are left out", (text, expected) => {
    expect(stripJsonComments(text)).toBe(expected);
  });

  it("take linear time", () => {
    const start = performance.now();
    stripJsonComments("/".repeat(1_000_000));
    stripJsonComments("//\n".repeat(300_000));
    expect(performance.now() - start).toBeLessThan(2_000);
  });
});

describe("account settings", () => {
  const stateOf = (files: Record<string, unknown>, name = "settings.json") =>
    readSettingsState(join(writeSuite(files), name));

  it("are filled in", () => {
    const settings = '{"email": "ida@museum.example", // the owner\n "roles": ["Owner"], "port": 1}';
    expect(stateOf({ "settings.json": settings })).toEqual({ state: "filled" });
    expect(stateOf({ "settings.yml": "a: 1" }, "settings.yml")).toEqual({ state: "filled" });
  });

  it("still have the template's values, by field", () => {
    const settings = [
      { email: "xxxxx@xxx.com", url: "https://{instance}.example", password: "your_password", project: "fine" },
      { user: "USER_NAME", key: "YOUR_KEY", empty: "" },
    ];
    expect(stateOf({ "settings.json": settings })).toEqual({
      state: "placeholders",
      fields: ["[0].email", "[0].url", "[0].password", "[1].user", "[1].key", "[1].empty"],
    });
  });

  it("are only a template, missing, or no JSON", () => {
    expect(stateOf({ "settings.json.template": "{}" })).toEqual({ state: "template_only" });
    expect(stateOf({ "other.json": "{}" })).toEqual({ state: "missing" });
    expect(stateOf({ "settings.json": "{" })).toEqual({ state: "unreadable" });
    expect(stateOf({ "settings.json": `${"[".repeat(200)}${"]".repeat(200)}` })).toEqual({ state: "unreadable" });
  });
});
