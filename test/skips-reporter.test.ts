import { afterEach, expect, it, vi } from "vitest";
import type { TestModule, Vitest } from "vitest/node";
import SkipsReporter from "./skips-reporter.js";

/** What the reporter says of skipped tests with these tags, and whether it fails. */
function reported(
  tags: readonly string[][],
  variables: Record<string, string | undefined>,
  tagsFilter: readonly string[] = [],
) {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const said: string[] = [];
  vi.spyOn(console, "warn").mockImplementation((text) => void said.push(text));
  const before = process.exitCode;
  process.exitCode = undefined;
  const skipped = tags.map((own) => ({ tags: own, module: { relativeModuleId: "test/a.test.ts" } }));
  const reporter = new SkipsReporter();
  reporter.onInit({ config: { tagsFilter } } as unknown as Vitest);
  reporter.onTestRunEnd([{ children: { allTests: () => skipped } } as unknown as TestModule]);
  const failed = process.exitCode === 1;
  process.exitCode = before;
  return { said, failed };
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

it("says what was skipped, and fails in CI where it is not allowed by name", () => {
  const tags = [["browser"], ["browser"], ["sandbox"]];
  const here = reported(tags, { CI: undefined, ART_E_ALLOW_SKIPS: undefined });
  expect(here).toEqual({
    said: [
      expect.stringMatching(/^Skipped: 2 tests in test\/a\.test\.ts: they need a browser: .*ART_E_CHROMIUM/),
      expect.stringMatching(/^Skipped: 1 tests in .*bubblewrap/),
    ],
    failed: false,
  });
  const ci = reported(tags, { CI: "true", ART_E_ALLOW_SKIPS: "browser" });
  expect(ci.failed).toBe(true);
  expect(ci.said.map((line) => line.slice(0, 7))).toEqual(["Skipped", "FAILED:"]);
  expect(reported(tags, { CI: "true", ART_E_ALLOW_SKIPS: "browser, sandbox" }).failed).toBe(false);
});

it("names what is missing, where a suite around the test needs something that is there", () => {
  const { failed } = reported([["linux", "notebooks"]], { CI: "true", ART_E_ALLOW_SKIPS: "notebooks" });
  expect(failed).toBe(process.platform !== "linux");
});

it("fails in CI for a test that skips without saying why, and for a word that it does not know", () => {
  expect(reported([[]], { CI: "true", ART_E_ALLOW_SKIPS: "browser" }).failed).toBe(true);
  expect(() => reported([], { CI: "true", ART_E_ALLOW_SKIPS: "brwoser" })).toThrow("there is no brwoser; there are");
});

it("says nothing of slow tests where the others run, nor of those where the slow ones do", () => {
  const ci = { CI: "true", ART_E_ALLOW_SKIPS: "" };
  expect(reported([["slow"], ["slow", "redis"]], ci, ["!slow"])).toEqual({ said: [], failed: false });
  expect(reported([[], ["redis"]], ci, ["slow"])).toEqual({ said: [], failed: false });
  expect(reported([["slow", "redis"]], ci, ["slow"])).toMatchObject({ failed: true });
});
