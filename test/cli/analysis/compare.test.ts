import { beforeAll, describe, expect, it } from "vitest";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, readJson, write } = workFolder({ mail: MAIL });

const RUN = `run -a baseline --dataset ${QUESTIONS} --quiet`;

beforeAll(async () => {
  for (const line of [`${RUN} -l 40 -o full.json`, `${RUN} -l 50 --max-turns 2 -o short.json`]) {
    expect(await artE(line)).toMatchObject({ code: 0 });
  }
});

const idOf = (file: string): string => readJson(file).runId;

describe("compare", () => {
  it("tells of two runs what is better, how surely, at what cost, and which questions changed", async () => {
    const { code, stdout, stderr } = await artE("compare full.json short.json --metric sources,semantic --flips 2");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [full, short] = [idOf("full.json"), idOf("short.json")];
    expect(stdout).toMatch(new RegExp(`^${full} +baseline +40 +0 +\\$0\\.00 .+\\n${short} +baseline +50 `, "m"));
    expect(stdout).toContain(`${short} against ${full}: 40 questions in both, 10 only in the second\n`);
    expect(stdout).toContain("Settings that differ: maxTurns, selection\n");
    expect(stdout).toMatch(
      /^Sources correct +40 +0\.\d{3} +0\.000 +-0\.\d{3} \[-0\.\d{3}, -0\.\d{3}\] +<0\.001 +0\/\d+\/\d+ +worse$/m,
    );
    expect(stdout).toMatch(/^Turns of a task +40 +3\.00 +2\.00 +-1\.00 /m);
    expect(stdout.match(/^ {2}lost {2}\d+ {2}\S.+\n {8}1\.000 {2}\S.+\n {8}0\.000 {2}-$/gm)).toHaveLength(2);
  });

  it("takes runs of the database by their ids, and is one document with --json", async () => {
    const { stdout } = await artE(`compare ${idOf("full.json")} latest --json`);
    const { runs, comparisons, published } = JSON.parse(stdout);
    expect(runs.map((run: { runId: string }) => run.runId)).toEqual([idOf("full.json"), idOf("short.json")]);
    expect(comparisons).toHaveLength(1);
    expect(comparisons[0].questions).toEqual({ common: 40, onlyBaseline: 0, onlyCandidate: 10 });
    const names = comparisons[0].metrics.map(({ metric }: { metric: string }) => metric);
    expect(names).toEqual(expect.arrayContaining(["exactMatch", "semanticScore", "costUsd", "modelAndToolTimeMs"]));
    expect(new Set(names).size).toBe(names.length);
    expect(comparisons[0].metrics[0]).toMatchObject({ metric: "exactMatch", test: "mcnemar", p: 1, verdict: null });
    expect(published).toBeNull();
  });

  it("compares the first with each of the others", async () => {
    const { stdout } = await artE("compare full.json short.json full.json --json");
    const [first, second] = JSON.parse(stdout).comparisons;
    expect(first.candidate).toBe(idOf("short.json"));
    const scores = second.metrics.slice(0, 3);
    for (const { wins, losses, verdict } of scores)
      expect({ wins, losses, verdict }).toEqual({ wins: 0, losses: 0, verdict: null });
  });

  it("shows the published figures beside a run, and how it was made otherwise", async () => {
    const { code, stdout } = await artE("compare full.json --published");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ART-E 14B +0\.960 +1\.1 s +\$0\.850 +published$/m);
    expect(stdout).toMatch(/^baseline \(offline\/baseline\) +0\.000 \[0\.000, 0\.\d{3}\] n=40 \(Exact match\) /m);
    expect(stdout).toMatch(
      /^run_\S+ differs: no judge: .+; agent baseline, not art-e; .+; not the first 100 questions .+\.$/m,
    );
  });

  it("refuses runs over other mail or with another cutoff, unless it is forced to", async () => {
    const other = { ...readJson("short.json"), runId: "run_other", corpusFingerprint: "0".repeat(64) };
    write("other.json", JSON.stringify({ ...other, settings: { ...other.settings, cutoff: "off" } }));
    const refused = await artE("compare full.json other.json");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(
      /^art-e: run_\S+ and run_other cannot be compared\. They differ in the mail: fingerprint \w{12} and 000000000000; the cutoff: query_date and off\.\n/,
    );
    const forced = await artE("compare full.json other.json --force");
    expect(forced.code).toBe(0);
    expect(forced.stdout).toContain("NOT COMPARABLE, they differ in the mail");
  });

  it.each([
    ["compare full.json", "There is one run only to compare."],
    ["compare full.json none.json", "There is no results file none.json."],
    ["compare full.json run_none", 'There is no run "run_none" in ./art-e.db.'],
    ["compare full.json broken.json", "broken.json is no results file of art-e: runId: "],
    ["compare full.json short.json --metric f1", 'There is no metric "f1" here.'],
    ["compare full.json short.json --flips -1", "--flips: expected a whole number"],
  ])("%s is refused", async (line, message) => {
    write("broken.json", "{}");
    const { code, stdout, stderr } = await artE(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`art-e: ${message}`);
  });
});

describe("stats --run --by", () => {
  it("is a table of the slice with denominators and intervals", async () => {
    const { code, stdout } = await artE("stats --run latest --by year --metric sources,semantic");
    expect(code).toBe(0);
    const [heading, , ...rows] = stdout.trimEnd().split("\n");
    expect(heading).toMatch(/^year +tasks +Sources correct +Semantic score$/);
    for (const row of rows)
      expect(row).toMatch(/^\d{4} +\d+ +0\.000 \[0\.000, 0\.\d{3}\] n=\d+ +0\.000 (\[0\.000, 0\.\d{3}\] )?n=\d+$/);
    const parts = JSON.parse((await artE("stats --run latest --by inbox --json")).stdout).parts;
    expect(parts.reduce((sum: number, part: { tasks: number }) => sum + part.tasks, 0)).toBe(50);
  });

  it.each([
    ["stats --by year", "--by goes with --run RUN --by SLICE."],
    ["stats --run latest --metric sources", "--metric goes with --run RUN --by SLICE."],
    [
      "stats --run latest --by month",
      "--by: expected inbox or realism or sources or year or tool or difficulty or guidance or app or tag.",
    ],
    ["stats --run latest --by year --metric x", 'There is no metric "x" here.'],
  ])("%s is refused", async (line, message) => {
    const { code, stderr } = await artE(line);
    expect(code).toBe(2);
    expect(stderr).toContain(`art-e: ${message}`);
  });
});
