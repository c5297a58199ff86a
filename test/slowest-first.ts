import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take long begin first, so that no core is idle at the end. A file says so: `@slow` in a comment. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const weight = ({ moduleId }: TestSpecification) => {
      const text = readFileSync(moduleId, "utf8");
      return text.includes("@slow") ? Number.POSITIVE_INFINITY : text.length;
    };
    const weights = new Map(files.map((file) => [file, weight(file)]));
    return files.toSorted((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0));
  }
}
