import { mkdirSync, readdirSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.js";
import { saveSuiteRun, suiteTrace, withCall } from "../../reports/suite-run.js";
import { workFolder } from "../art-e.js";

/** Reports of runs over a suite by the built program: tables, Markdown, figures and comparison. */

const { artE, path, read, write } = workFolder();

const FORMULA = '=HYPERLINK("https://evil.example")';
const CALL = withCall("run_shell", { command: "ls" }, { stdout: "", stderr: "", exit_code: 0 });

const traces = (abstract: number) => [
  suiteTrace(abstract, { id: "a1", counterpart: "v1" }, CALL),
  suiteTrace(1, { id: "v1", counterpart: "a1", tags: ["cli", "verbose"] }, CALL),
  suiteTrace(null, { id: "x", tool: FORMULA, actionNumber: 20, relatedApps: ["|pipes|"], counterpart: "gone" }),
];

beforeAll(() => {
  const db = openStore(path("art-e.db"), { mustExist: false });
  saveSuiteRun(db, "run_before", traces(0));
  saveSuiteRun(db, "run_after", traces(1));
  db.close();
});

const rowsOf = (file: string): Record<string, string>[] => parse(read(file), { columns: true, bom: true });

describe("report --csv", () => {
  it("writes the tasks and summaries of them as tables, which a spreadsheet does not execute", async () => {
    const { code, stdout, stderr } = await artE("report run_before --csv tables");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    const names = ["durations", "pairs", "scores", "slices", "states", "steps", "tasks", "tools"].map(
      (name) => `${name}.csv`,
    );
    expect(readdirSync(path("tables")).sort()).toEqual(names);
    expect(stderr).toMatch(/^Written to tables: tasks\.csv, scores\.csv, .+\.\n$/);
    expect(rowsOf("tables/tasks.csv")[2]).toMatchObject({
      suite: "harbour",
      tool: `'${FORMULA}`,
      state: "unsupported",
      taskScore: "",
    });
    expect(rowsOf("tables/slices.csv").filter(({ slice }) => slice === "tool")).toEqual([
      expect.objectContaining({ part: "terminal", tasks: "2", score: "taskScore", value: "0.5", n: "2" }),
      expect.objectContaining({ part: "terminal", tasks: "2", score: "taskSolved", value: "0.5", n: "2" }),
      expect.objectContaining({ part: `'${FORMULA}`, tasks: "1", score: "taskScore", value: "", n: "0" }),
      expect.objectContaining({ part: `'${FORMULA}`, tasks: "1", score: "taskSolved", value: "", n: "0" }),
    ]);
    const pairs = read("tables/pairs.csv");
    expect(rowsOf("tables/pairs.csv")[0]).toMatchObject({
      score: "taskScore",
      pairs: "1",
      abstract: "0",
      verbose: "1",
    });
    expect(rowsOf("tables/states.csv")).toEqual([
      expect.objectContaining({ state: "success", scoreBand: "high", tasks: "1" }),
      expect.objectContaining({ state: "success", scoreBand: "low", tasks: "1" }),
      expect.objectContaining({ state: "unsupported", scoreBand: "unscored", tasks: "1" }),
    ]);
    expect(rowsOf("tables/tools.csv")[0]).toMatchObject({ tool: "run_shell", calls: "2", errors: "0", tasks: "2" });
    expect(read("tables/steps.csv")).toMatch(/\r\nrun_before,data-worker,acme\/best,,up to 5,2,3,1,1\r\n$/);
    // Again: they are replaced.
    expect(JSON.parse((await artE("report run_after --csv tables --json")).stdout).runs).toEqual(["run_after"]);
    expect(rowsOf("tables/scores.csv")[0]).toMatchObject({ runId: "run_after", value: "1" });
    const stats = await artE("stats --run run_before --csv figures --json");
    expect(JSON.parse(stats.stdout).runId).toBe("run_before");
    expect(read("figures/pairs.csv")).toBe(pairs);
    expect((await artE("stats --csv figures")).stderr).toMatch(/^art-e: --csv goes with --run RUN\.$/m);
  });

  it("spoils no other file", async () => {
    mkdirSync(path("mine"));
    write("mine/tools.csv", "name,price\nsaw,3\n");
    write("plain", "text");
    expect(await artE("report --csv mine")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("mine/tools.csv exists"),
    });
    expect(readdirSync(path("mine"))).toEqual(["tools.csv"]);
    expect(await artE("report --csv plain")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("plain is a file"),
    });
    expect(await artE("report --csv mine -o page.html")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--output is for that"),
    });
  });
});

it("report --format md tells states, pairs and slices, its text without markup", async () => {
  const { stdout } = await artE("report run_before --format md");
  expect(stdout).toContain("| Graded | 2 of 3 |\n| States | success 2, unsupported 1 (not graded) |");
  expect(stdout).toContain("| Task score | 1 | 0.000 | 1.000 | +1.000 | 1.000 (sign flips) | 1, 0, 0 |");
  expect(stdout).toContain("Left out: tasks whose counterpart is not in the run 1.");
  expect(stdout).toContain("| up to 5 | 2 | 3.0 | 1.0 | 1.0 |");
  expect(stdout).toContain("&#124;pipes&#124;");
  expect(stdout).not.toContain("Mailbox");
});

it("stats --run prints the analysis below the totals, by suite slices with --by", async () => {
  const { stdout } = await artE("stats --run run_before");
  expect(stdout).toMatch(/^Graded: +2 of 3; not graded, and in no average: 1$/m);
  expect(stdout).toMatch(/^Solved: +0\.500 \[.+\] n=2$/m);
  expect(stdout).toMatch(/^States: +success 2, unsupported 1 \(not graded\)$/m);
  expect(stdout).toMatch(/^unsupported +0 +0 +0 +1$/m);
  expect(stdout).toMatch(/^run_shell +2 +0 +2 +12 ms$/m);
  expect(stdout).toMatch(/^Task score +1 +0\.000 +1\.000 +\+1\.000 +1\.000 \(sign flips\) +1\/0\/0$/m);
  const { analysis, suite } = JSON.parse((await artE("stats --run run_before --json")).stdout);
  expect({ graded: suite.graded, pairs: analysis.guidance.pairs }).toEqual({ graded: 2, pairs: 1 });
  expect((await artE("stats --run run_before --by guidance")).stdout).toMatch(
    /^verbose +1 +1\.000 n=1 +1\.000 \[.+\] n=1$/m,
  );
  expect(await artE("stats --run run_before --by inbox")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--by inbox: run_before is a run over tasks of the suite harbour"),
  });
});

it("compare pairs the tasks of two runs, over those that are graded in both", async () => {
  const { code, stdout } = await artE("compare run_before run_after");
  expect(code).toBe(0);
  expect(stdout).toContain(
    "run_after against run_before: 3 tasks in both\nNot graded, and in no score: 1 of the first, 1 of the second\n",
  );
  expect(stdout).toMatch(/^Task score +2 +0\.500 +1\.000 +\+0\.500 .+ 1\/0\/1 /m);
});
