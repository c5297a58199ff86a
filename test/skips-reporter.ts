import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";
import { isMissing, NEEDS, type Need } from "./machine-requirements.js";

/**
 * Says after the tests what was skipped and what it would have needed. In CI the tests then fail, unless
 * ART_E_ALLOW_SKIPS names it (`sandbox,browser`); a test that is skipped for no such reason always fails there.
 */
export default class SkipsReporter implements Reporter {
  readonly #allowed = new Set((process.env.ART_E_ALLOW_SKIPS ?? "").split(/[\s,]+/).filter((word) => word !== ""));

  #tagsFilter: readonly string[] = [];

  onInit(vitest?: Vitest): void {
    this.#tagsFilter = vitest?.config.tagsFilter ?? [];
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
        // A test inside a suite has the suite's needs too, which may be there.
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

  /** Slow cases are left out of `npm test`, and the others of `npm run test:slow`. */
  #isOfOtherRun({ tags }: TestCase): boolean {
    const isSlow = tags.includes("slow");
    return this.#tagsFilter.includes(isSlow ? "!slow" : "slow");
  }
}
