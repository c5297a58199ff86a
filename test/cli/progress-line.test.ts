import { describe, expect, it } from "vitest";
import { type ProgressState, progressLine, progressText } from "../../src/cli/terminal.js";

const STATE: ProgressState = {
  title: "Answering",
  done: 12,
  total: 100,
  elapsedMs: 6_000,
  main: "semantic 0.412  12/100  $0.0123",
  more: ["1 failed", "", "3 running, 5 waiting for a slot", "12,345 tokens"],
};

describe("the line of a progress", () => {
  it("shows what matters, a bar in what is left, and the rest where there is room", () => {
    const main = "12 %  semantic 0.412  12/100  $0.0123  44.0 s left";
    expect(progressLine(STATE, 77)).toBe(`Answering ██░░░░░░░░░░░░░░ ${main}`);
    expect(progressLine(STATE, 100)).toMatch(/^Answering █+░+ 12 % .+ left {2}1 failed$/);
    expect(progressLine(STATE, 200)).toBe(
      `Answering ███░░░░░░░░░░░░░░░░░░░░░ ${main}  1 failed  3 running, 5 waiting for a slot  12,345 tokens`,
    );
  });

  it.each([10, 40, 60, 66, 70, 80, 90, 120])("is never wider than %i columns", (columns) => {
    expect(progressLine(STATE, columns).length).toBeLessThanOrEqual(columns);
  });

  it("leaves out the bar, then the title, where there is no room", () => {
    expect(progressLine(STATE, 62)).toMatch(/^Answering 12 % {2}semantic/);
    expect(progressLine(STATE, 52)).toMatch(/^12 % {2}semantic .+ left$/);
    expect(progressLine(STATE, 20)).toBe("12 %  semantic 0.412");
  });

  it("has no bar, share or time left where the total is not known", () => {
    const state = { title: "Reading", done: 5, total: null, elapsedMs: 1_000, main: "5 mails" };
    expect(progressLine(state, 80)).toBe("Reading 5 mails");
    expect(progressLine({ ...state, done: 0, total: 0, main: "" }, 30)).toMatch(/^Reading ░+ $/);
  });

  it("shows control characters of others as such", () => {
    expect(progressLine({ ...STATE, title: "\u001b[2J" }, 80)).not.toContain("\u001b");
    expect(progressText({ ...STATE, more: ["\u001b[2J"] })).not.toContain("\u001b");
  });

  it("says all of it in a log", () => {
    expect(progressText(STATE)).toBe(
      "Answering 12 %  semantic 0.412  12/100  $0.0123  44.0 s left  1 failed  3 running, 5 waiting for a slot  12,345 tokens",
    );
  });
});
