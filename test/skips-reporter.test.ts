import { afterEach, expect, it, vi } from "vitest";
import type { TestModule, Vitest } from "vitest/node";
import SkipsReporter from "./skips-reporter.js";

/** The reporter's output for skipped tests with these tags, and whether it fails. */
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

it("lists skipped tests, and fails in CI unless their requirement is allowed", () => {
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

it("names the missing requirement if the suite around the test has an available one", () => {
  const { failed } = reported([["linux", "notebooks"]], { CI: "true", ART_E_ALLOW_SKIPS: "notebooks" });
  expect(failed).toBe(process.platform !== "linux");
});

it("fails in CI if a test skips without a reason, or if a requirement is unknown", () => {
  expect(reported([[]], { CI: "true", ART_E_ALLOW_SKIPS: "browser" }).failed).toBe(true);
  expect(() => reported([], { CI: "true", ART_E_ALLOW_SKIPS: "brwoser" })).toThrow("there is no brwoser; there are");
});

it("does not list slow tests in a run of the others, or the others in a run of the slow ones", () => {
  const ci = { CI: "true", ART_E_ALLOW_SKIPS: "" };
  expect(reported([["slow"], ["slow", "redis"]], ci, ["!slow"])).toEqual({ said: [], failed: false });
  expect(reported([[], ["redis"]], ci, ["slow"])).toEqual({ said: [], failed: false });
  expect(reported([["slow", "redis"]], ci, ["slow"])).toMatchObject({ failed: true });
});
