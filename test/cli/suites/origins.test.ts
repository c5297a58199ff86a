import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkSnapshots, readSnapshots } from "../../../src/sandbox/machine-snapshots.js";
import { isMissing, needs, ORIGINS, SUITES } from "../../machine-requirements.js";
import { machinesStart } from "../../suites/machines-start.js";
import { workFolder } from "../art-e.js";

/** Both suites with all files of their origins: their own scripts set up the machines and grade. */

const { artE, path } = workFolder();

const builtIn = await readSnapshots(null);
const jupyter = [...builtIn.values()].filter(({ name }) => name === "jupyter");
const [hasJupyter] = (await checkSnapshots(jupyter)).snapshots;

interface Line {
  readonly state: string;
  readonly expected: number;
  readonly score: number | null;
  readonly reason: string;
}

interface Result {
  readonly suite: { readonly grade: unknown };
}

describe(
  "a complete suite from its original repository",
  needs("origins", !isMissing("origins") && !isMissing("suites")),
  () => {
    describe("with Jupyter", needs("notebooks", hasJupyter?.ready === true && machinesStart), () => {
      it.each([
        ["flowbook", 56],
        ["spider2v", 174],
      ])("gets the expected score on every line of %s", async (name, equal) => {
        const oracle = join(SUITES, "oracle/oracle.jsonl");
        const { stdout } = await artE(`suite check ${join(ORIGINS, name)} --oracle ${oracle} --json`);
        const { lines, ...counts } = JSON.parse(stdout);
        const unequal = lines.filter(({ score, expected }: Line) => score !== expected);
        expect(unequal.filter(({ reason }: Line) => !reason.includes("snapshot dagster"))).toEqual([]);
        expect(counts).toMatchObject({ equal: equal - unequal.length, different: 0 });
      });

      it("scores all 44 Flowbook tasks 0 if the agent is idle", async () => {
        const suite = join(ORIGINS, "flowbook");
        await artE(`run --suite ${suite} -a noop -l 0 --concurrency 8 --db ${path("a.db")} -o ${path("noop.json")}`);
        const { taskResults, ...totals } = JSON.parse(readFileSync(path("noop.json"), "utf8"));
        expect(taskResults.map(({ suite }: Result) => suite)).toEqual(
          taskResults.map(() => expect.objectContaining({ score: 0, state: "success" })),
        );
        expect(totals).toMatchObject({ totalTasks: 44, completedTasks: 44, failedTasks: 0 });
      });
    });
  },
);
