import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What starts other programs takes longest for its length. */
const STARTS_PROGRAMS = /\bstart\(|\bneeds\("(sandbox|browser|redis)"/;

/** Files that take long begin first, so that no core is idle at the end. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const weight = ({ moduleId }: TestSpecification) => {
      const text = readFileSync(moduleId, "utf8");
      return text.length * (STARTS_PROGRAMS.test(text) ? 4 : 1);
    };
    const weights = new Map(files.map((file) => [file, weight(file)]));
    return files.toSorted((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0));
  }
}
