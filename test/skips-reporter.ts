import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";
import { isMissing, NEEDS, type Need } from "./machine-requirements.js";

/**
 * Reports skipped tests and their missing requirements at the end. In CI this fails the run, unless ART_E_ALLOW_SKIPS
 * names the requirement (`sandbox,browser`). A test that is skipped without a requirement always fails there.
 */
export default class SkipsReporter implements Reporter {
  readonly #allowed = new Set((process.env.ART_E_ALLOW_SKIPS ?? "").split(/[\s,]+/).filter((word) => word !== ""));

  #tagsFilter: readonly string[] = [];

  onInit({ config }: Vitest): void {
    this.#tagsFilter = config.tagsFilter ?? [];
    const unknown = [...this.#allowed].filter((name) => !(name in NEEDS));
    if (unknown.length === 0) return;
    throw new Error(
      `ART_E_ALLOW_SKIPS: there is no ${unknown.join(", ")}; there are ${Object.keys(NEEDS).join(", ")}.`,
    );
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = new Map<string, TestCase[]>();
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        if (this.#isOfOtherRun(test)) continue;
        const needs = test.tags.filter((tag): tag is Need => tag in NEEDS);
        // A test in a suite also has the suite's requirements, which may be met.
        const need = needs.find(isMissing) ?? needs[0] ?? "";
        skipped.set(need, [...(skipped.get(need) ?? []), test]);
      }
    }
    let refused = false;
    for (const [need, tests] of skipped) {
      const files = new Set(tests.map(({ module }) => module.relativeModuleId));
      const reason = need === "" ? "for no reason that is known" : `they need ${NEEDS[need as Need]}`;
      const forbidden = process.env.CI !== undefined && !this.#allowed.has(need);
      refused ||= forbidden;
      const hint = need === "" ? "" : ` ART_E_ALLOW_SKIPS=${need} allows it.`;
      console.warn(
        `${forbidden ? "FAILED" : "Skipped"}: ${tests.length} tests in ${[...files].join(", ")}: ${reason}.${forbidden ? hint : ""}`,
      );
    }
    if (refused) process.exitCode = 1;
  }

  /** `npm test` excludes slow cases, and `npm run test:slow` the others. */
  #isOfOtherRun({ tags }: TestCase): boolean {
    const isSlow = tags.includes("slow");
    return this.#tagsFilter.includes(isSlow ? "!slow" : "slow");
  }
}
