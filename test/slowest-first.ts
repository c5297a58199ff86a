import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Tests that start other programs take longest for their length. */
const STARTS_PROGRAMS = /\bstart\(|\bneeds\("(sandbox|browser|redis)"/;

/** Slow files start first, so that all cores are busy until the end. */
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
