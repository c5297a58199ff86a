import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";

/** Writes the results of another run with the same answers to `again.json`. */
function repeat({ readJson, write }: ReturnType<typeof workFolder>, file: string): void {
  write("again.json", JSON.stringify({ ...readJson(file), runId: "run_again" }));
}

describe("comparing runs", () => {
  const folder = workFolder({ mail: MAIL });
  const { artE, readJson, write } = folder;
  const RUN = `run -a baseline --dataset ${QUESTIONS} --quiet`;

  beforeAll(async () => {
    for (const line of [`${RUN} -l 40 -o full.json`, `${RUN} -l 50 --max-turns 2 -o short.json`]) {
      expect(await artE(line)).toMatchObject({ code: 0 });
    }
  });

  const idOf = (file: string): string => readJson(file).runId;

  describe("art-e compare", () => {
    it("reports which of two runs is better, how certain that is, what it cost, and which questions changed", async () => {
      const { code, stdout, stderr } = await artE("compare full.json short.json --metric sources,semantic --flips 2");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const [full, short] = [idOf("full.json"), idOf("short.json")];
      expect(stdout).toMatch(new RegExp(`^${full} +baseline +40 +0 +\\$0\\.00 .+\\n${short} +baseline +50 `, "m"));
      expect(stdout).toContain(`${short} against ${full}: 40 questions in both, 10 only in the second\n`);
      expect(stdout).toContain("Different settings: maxTurns, selection\n");
      expect(stdout).toMatch(
        /^Sources correct +40 +0\.\d{3} +0\.000 +-0\.\d{3} \[-0\.\d{3}, -0\.\d{3}\] +<0\.001 +0\/\d+\/\d+ +worse$/m,
      );
      expect(stdout).toMatch(/^Turns per task +40 +3\.00 +2\.00 +-1\.00 /m);
      expect(stdout.match(/^ {2}lost {2}\d+ {2}\S.+\n {8}1\.000 {2}\S.+\n {8}0\.000 {2}-$/gm)).toHaveLength(2);
    });

    it("accepts run ids from the database, and prints one document with --json", async () => {
      const { stdout } = await artE(`compare ${idOf("full.json")} latest --json`);
      const { runs, comparisons, published } = JSON.parse(stdout);
      expect(runs.map((run: { runId: string }) => run.runId)).toEqual([idOf("full.json"), idOf("short.json")]);
      expect(comparisons).toHaveLength(1);
      expect(comparisons[0].questions).toEqual({ common: 40, onlyBaseline: 0, onlyCandidate: 10 });
      const names = comparisons[0].metrics.map(({ metric }: { metric: string }) => metric);
      expect(names).toEqual(expect.arrayContaining(["exactMatch", "semanticScore", "costUsd", "modelAndToolTimeMs"]));
      expect(new Set(names).size).toBe(names.length);
      expect(names[0]).toBe("sourcesCorrect");
      const exactMatch = comparisons[0].metrics[names.indexOf("exactMatch")];
      expect(exactMatch).toMatchObject({ test: "mcnemar", p: 1, verdict: null });
      expect(published).toBeNull();
    });

    it("compares the first run with each of the others", async () => {
      repeat(folder, "full.json");
      const { stdout } = await artE("compare full.json short.json again.json --json");
      const [first, second] = JSON.parse(stdout).comparisons;
      expect(first.candidate).toBe(idOf("short.json"));
      const scores = second.metrics.slice(0, 3);
      for (const { wins, losses, verdict } of scores)
        expect({ wins, losses, verdict }).toEqual({ wins: 0, losses: 0, verdict: null });
    });

    it("shows the published figures next to a run, and the differences between their conditions", async () => {
      const { code, stdout } = await artE("compare full.json --published");
      expect(code).toBe(0);
      expect(stdout).toMatch(/^ART-E 14B +0\.960 +1\.1 s +\$0\.850 +published$/m);
      expect(stdout).toMatch(
        /^baseline \(offline\/baseline\) +0\.\d{3} \[0\.\d{3}, 0\.\d{3}\] n=40 \(Sources correct\) /m,
      );
      expect(stdout).toMatch(
        /^run_\S+ differs: no judge: .+; agent baseline, not art-e; .+; not the first 100 questions .+\.$/m,
      );
    });

    it("rejects runs over different mail or with different cutoffs unless forced", async () => {
      const other = { ...readJson("short.json"), runId: "run_other", corpusFingerprint: "0".repeat(64) };
      write("other.json", JSON.stringify({ ...other, settings: { ...other.settings, cutoff: "off" } }));
      const refused = await artE("compare full.json other.json");
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toMatch(
        /^art-e: Cannot compare run_\S+ and run_other\. They differ in the mail: fingerprint \w{12} and 000000000000; the cutoff: query_date and off\.\n/,
      );
      const forced = await artE("compare full.json other.json --force");
      expect(forced.code).toBe(0);
      expect(forced.stdout).toContain("NOT COMPARABLE: the runs differ in the mail");
    });

    it("compares a run with its results before it was scored again", async () => {
      const saved = readJson("full.json");
      const taskResults = saved.taskResults.map((result: { scores: object }) => ({
        ...result,
        scores: { ...result.scores, exactMatch: 1 },
      }));
      write("before.json", JSON.stringify({ ...saved, taskResults }));
      const { stdout } = await artE("compare before.json full.json --metric exactMatch --json");
      const [exactMatch] = JSON.parse(stdout).comparisons[0].metrics;
      expect(exactMatch).toMatchObject({ wins: 0, losses: 40, ties: 0 });
    });

    it.each([
      ["compare latest", "compare: a baseline is required."],
      ["compare full.json short.json full.json", "Cannot compare run run_"],
      ["compare latest short.json", "Cannot compare run run_"],
      ["compare full.json none.json", "Results file none.json does not exist."],
      ["compare full.json run_none", 'Unknown run "run_none" in ./art-e.db.'],
      ["compare full.json broken.json", "broken.json is not a results file of art-e: runId: "],
      ["compare full.json short.json --metric f1", 'Unknown metric "f1".'],
      ["compare full.json short.json --flips -1", "--flips: expected a whole number"],
    ])("rejects %s", async (line, message) => {
      write("broken.json", "{}");
      const { code, stdout, stderr } = await artE(line);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`art-e: ${message}`);
    });
  });

  describe("art-e stats", () => {
    it("describes the newest run by default", async () => {
      const { stdout } = await artE("stats --run latest --json");
      const named = { code: 0, stdout, stderr: "" };
      expect(await artE("stats latest --json")).toEqual(named);
      const bare = await artE("stats --json");
      expect(bare).toMatchObject({ code: 0, stdout, stderr: expect.stringContaining("Stats of the latest run.") });
    });
  });

  describe("art-e stats --run --by", () => {
    it("prints a table of slices with denominators and intervals", async () => {
      const { code, stdout } = await artE("stats --run latest --by year --metric sources,semantic");
      expect(code).toBe(0);
      const [heading, , ...rows] = stdout.trimEnd().split("\n");
      expect(heading).toMatch(/^year +tasks +Sources correct +Word overlap$/);
      for (const row of rows)
        expect(row).toMatch(/^\d{4} +\d+ +0\.000 \[0\.000, 0\.\d{3}\] n=\d+ +0\.000 (\[0\.000, 0\.\d{3}\] )?n=\d+$/);
      const parts = JSON.parse((await artE("stats --run latest --by inbox --json")).stdout).parts;
      expect(parts.reduce((sum: number, part: { tasks: number }) => sum + part.tasks, 0)).toBe(50);
    });

    it.each([
      ["stats --split test --by year", "--by requires --run RUN --by SLICE."],
      ["stats one --run two", "RUN (one) and --run (two) differ."],
      ["stats latest --corpus", "--corpus and --run cannot be combined."],
      ["report latest --run other", "RUNS (latest) and --run (other) differ."],
      ["stats --run latest --metric sources", "--metric requires --run RUN --by SLICE."],
      [
        "stats --run latest --by month",
        "--by: expected inbox or realism or sources or year or tool or difficulty or guidance or app or tag.",
      ],
      ["stats --run latest --by year --metric x", 'Unknown metric "x".'],
    ])("rejects %s", async (line, message) => {
      const { code, stderr } = await artE(line);
      expect(code).toBe(2);
      expect(stderr).toContain(`art-e: ${message}`);
    });
  });
});

describe("gates", () => {
  const folder = workFolder({ mail: MAIL });
  const { artE, path, read, readJson, write } = folder;
  const RUN = `run -a baseline --dataset ${QUESTIONS} -l 30`;

  beforeAll(async () => {
    expect(await artE(`${RUN} -o base.json --quiet`)).toMatchObject({ code: 0 });
    expect(await artE(`${RUN} -o short.json --max-turns 2 --quiet`)).toMatchObject({ code: 0 });
  });

  describe("art-e gate", () => {
    it("passes a run that meets every threshold", async () => {
      repeat(folder, "base.json");
      const { code, stdout, stderr } = await artE(
        "gate base.json --fail-under sources=0.5,found=0.9 --baseline again.json --no-worse-than 0.2",
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout.split("\n")).toEqual([
        expect.stringMatching(
          /^passed {2}sources \(sourcesCorrect\) 0\.\d{3} \[0\.\d{3}, 0\.\d{3}\] n=30, required: at least 0\.5$/,
        ),
        expect.stringMatching(
          /^passed {2}found \(foundGold\) 1\.000 \[0\.\d{3}, 1\.000\] n=30, required: at least 0\.9$/,
        ),
        expect.stringMatching(
          /^passed {2}accuracy \(sourcesCorrect\) 0\.000 \[-0\.114, 0\.114\] n=30, required: the interval above -0\.2 against run_/,
        ),
        "",
      ]);
    });

    it("checks every gate of a repeated --fail-under", async () => {
      const { code, stderr } = await artE("gate base.json --fail-under accuracy=0.99 --fail-under found=0.5 --json");
      expect(code).toBe(3);
      expect(JSON.parse(stderr).error.message).toContain("missed 1 of 2 gates: accuracy");
    });

    it("exits with code 3 if a threshold is missed, and says which one and by how much", async () => {
      const { code, stdout, stderr } = await artE("gate base.json --fail-under accuracy=0.99,found=0.5 --json");
      expect(code).toBe(3);
      expect(JSON.parse(stderr).error.message).toMatch(
        /^Run run_\S+ missed 1 of 2 gates: accuracy \(sourcesCorrect\) 0\.\d{3} \[0\.\d+, 0\.\d+\] n=30, required: at least 0\.99\.$/,
      );
      const { passed, gates } = JSON.parse(stdout);
      expect(passed).toBe(false);
      expect(gates).toEqual([
        expect.objectContaining({ kind: "fail_under", scorer: "sourcesCorrect", limit: 0.99, passed: false }),
        expect.objectContaining({ kind: "fail_under", scorer: "foundGold", limit: 0.5, passed: true }),
      ]);
    });

    it("exits with code 3 if a run might be worse than its baseline by the margin or more", async () => {
      const { code, stderr } = await artE("gate short.json --baseline base.json --no-worse-than 0.1 --metric sources");
      expect(code).toBe(3);
      expect(stderr).toMatch(
        / -0\.\d{3} \[-0\.\d{3}, -0\.\d{3}\] n=30, required: the interval above -0\.1 against run_/,
      );
      const better = await artE("gate base.json --baseline short.json --metric sources");
      expect(better.code).toBe(0);
    });

    it("misses every gate for a run that answers nothing, and names the reason", async () => {
      repeat(folder, "short.json");
      const line = "gate short.json --fail-under found=0.5,hallucination=0.5 --baseline again.json --no-worse-than 0.5";
      const { code, stdout } = await artE(line);
      expect(code).toBe(3);
      expect(stdout.match(/^missed .+; no task has an answer/gm)).toHaveLength(3);
      expect(stdout).toContain("sourcesCorrect is 0 in all tasks of both runs, which is not evidence: ");
    });

    it("writes JUnit XML for the requested score, with wrong answers as failures on request", async () => {
      expect(await artE("gate base.json --junit gates.xml")).toMatchObject({ code: 0 });
      expect(read("gates.xml")).toContain('<testsuites name="art-e" tests="30" failures="0" errors="0"');
      const { code, stdout } = await artE("gate base.json --junit junit.xml --junit-tasks --metric sources");
      expect({ code, stdout }).toEqual({ code: 0, stdout: "JUnit:  junit.xml\n" });
      const right = readJson("base.json").taskResults.filter(
        (task: { sourcesCorrect: boolean }) => task.sourcesCorrect,
      );
      expect(read("junit.xml")).toContain(
        `<testsuites name="art-e" tests="30" failures="${30 - right.length}" errors="0"`,
      );
      expect(read("junit.xml").match(/<testcase /g)).toHaveLength(30);
    });

    it("rejects an unfinished run", async () => {
      expect(await artE(`${RUN} --max-time 0.000000001 -o partial.json --quiet`)).toMatchObject({
        code: 1,
      });
      expect(readJson("partial.json")).toMatchObject({ status: "interrupted", plannedTasks: 30 });
      for (const name of ["latest", "partial.json"]) {
        const { code, stdout, stderr } = await artE(`gate ${name} --fail-under found=0 --junit partial.xml`);
        expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
        expect(stderr).toMatch(
          /^art-e: Run run_\S+ is not finished: \d+ of its 30 tasks have no result\.\n {7}Finish it: art-e run --resume /,
        );
        const against = await artE(`gate base.json --baseline ${name}`);
        expect(against).toMatchObject({ code: 2, stderr: expect.stringContaining(`--baseline ${name}: Run run_`) });
      }
      expect(existsSync(path("partial.xml"))).toBe(false);
    });

    it.each([
      ["gate base.json", "gate: a gate is required."],
      ["gate base.json --fail-under accuracy", "--fail-under: expected METRIC=VALUE"],
      ["gate base.json --fail-under f2=0.5", 'Unknown metric "f2".'],
      ["gate base.json --no-worse-than 0.1", "--no-worse-than goes with --baseline."],
      ["gate base.json --junit a.xml --min-coverage 0.5", "--min-coverage goes with --fail-under or --baseline."],
      ["gate base.json --baseline base.json --junit-tasks", "--junit-tasks goes with --junit."],
      ["gate base.json --metric sources", "--metric goes with --baseline or --junit."],
      ["gate base.json --fail-under sources=80", "--fail-under sources=80: sources is from 0 to 1."],
      ["gate base.json --fail-under goldRank=0.5", "--fail-under goldRank=0.5: goldRank is of at least 1."],
      ["gate base.json --fail-under artReward=-3", "--fail-under artReward=-3: artReward is from -2 to 1.5."],
      [
        "gate base.json --baseline base.json --no-worse-than 1",
        "--no-worse-than 1: accuracy is from 0 to 1, so nothing",
      ],
      ["gate base.json --baseline base.json", "Cannot compare run run_"],
      ["gate base.json --baseline none.json", "Results file none.json does not exist."],
      ["gate base.json --junit no/where.xml", "--junit: Cannot write no/where.xml: the folder no does not exist."],
    ])("rejects %s", async (line, message) => {
      const { code, stdout, stderr } = await artE(line);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`art-e: ${message}`);
    });
  });

  describe("art-e run with gates", () => {
    it("applies the gates to the finished run, and shows them in the exit code, box, document, JUnit file and step summary", async () => {
      const line = `${RUN} --fail-under sources=0.99 --baseline base.json --no-worse-than 0.2 --junit run.xml -o gated.json`;
      const summary = path("summary.md");
      // Another step might leave out the end of its last line.
      write("summary.md", "before");
      const { code, stdout, stderr } = await artE(line, { GITHUB_STEP_SUMMARY: summary });
      expect(code).toBe(3);
      expect(stdout).toMatch(/^Gate: {5}missed {2}sources \(sourcesCorrect\) .+ required: at least 0\.99$/m);
      expect(stdout).toMatch(/^Gate: {5}passed {2}accuracy \(sourcesCorrect\) .+ against run_/m);
      expect(stdout).toMatch(/^JUnit: {4}run\.xml$/m);
      expect(stderr).toMatch(/^art-e: Run run_\S+ missed 1 of 2 gates: sources /m);
      expect(read("run.xml")).toMatch(/ tests="32" failures="1" /);
      expect(read("summary.md")).toMatch(/^before\n+### ART-E: baseline &#40;offline&#47;baseline&#41;\n/);
      expect(readJson("gated.json").totalTasks).toBe(30);
    });

    it("includes the gates in its document if --json is given", async () => {
      const { code, stdout } = await artE(`${RUN} --fail-under found=0.5 --json --quiet`);
      expect(code).toBe(0);
      expect(JSON.parse(stdout).gates).toEqual([expect.objectContaining({ scorer: "foundGold", passed: true })]);
    });

    it("compares with the previous run if --baseline is latest", async () => {
      const before = JSON.parse((await artE("stats --run latest --json")).stdout).runId;
      const { stdout } = await artE(`${RUN} --baseline latest --no-worse-than 0.2 --json --quiet`);
      expect(JSON.parse(stdout).gates[0]).toMatchObject({ baseline: before, passed: true });
    });

    it("spends nothing if the baseline has different questions", async () => {
      const runs = async () => JSON.parse((await artE("stats --runs --json")).stdout).length;
      const before = await runs();
      const { code, stderr } = await artE(`${RUN} --cutoff off --baseline base.json`);
      expect(code).toBe(2);
      expect(stderr).toContain(
        "--baseline base.json: cannot compare it with this run. They differ in the cutoff: query_date and off.",
      );
      expect((await artE(`${RUN} --fail-under f2=1`)).code).toBe(2);
      expect(await runs()).toBe(before);
    });
  });
});
