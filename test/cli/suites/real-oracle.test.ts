import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs, SUITES } from "../../machine-requirements.js";
import { workFolder } from "../art-e.js";

/** Both real suites, graded with what an agent would have left behind: gold files for 1, the untouched start for 0. */

const { artE } = workFolder();

describe("suite check --oracle of a real suite", needs("suites"), () => {
  it.each([
    ["flowbook", { equal: 52, different: 0, skipped: 178 }],
    ["spider2v", { equal: 168, different: 0, skipped: 62 }],
  ])("gives %s the scores of the origin's own evaluators", async (name, counts) => {
    const { stdout } = await artE(`suite check ${join(SUITES, name)} --oracle ${SUITES}/oracle/oracle.jsonl --json`);
    const { lines, ...found } = JSON.parse(stdout);
    const unequal = lines.filter((line: { score: number | null; expected: number }) => line.score !== line.expected);
    // Graded by a script or a running server.
    expect(unequal.filter(({ status }: { status: string }) => status !== "missing_files")).toEqual([]);
    expect(found).toEqual(counts);
  });
});
