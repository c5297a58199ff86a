import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { parse } from "csv-parse/sync";
import { beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.js";
import { saveSuiteRun, suiteTrace, withCall } from "../../reports/suite-run.js";
import { demoQuestion, MAIL, QUESTIONS, workFolder } from "../art-e.js";

describe("art-e report", () => {
  const { artE, path, read, write } = workFolder({ mail: MAIL });

  beforeAll(async () => {
    for (const ids of ["1,2,3", "1,2,4"]) {
      const { code, stderr } = await artE(`run -a baseline --dataset ${QUESTIONS} --ids ${ids} --quiet`);
      if (code !== 0) throw new Error(stderr);
    }
  });

  /** The data in a page's element, by the element's name. */
  function dataOf(html: string, id: string): unknown {
    const [, json = "null"] =
      new RegExp(`<script type="application/json" id="${id}">(.*?)</script>`, "s").exec(html) ?? [];
    return JSON.parse(json);
  }

  function unpacked(packed: string | undefined) {
    return JSON.parse(inflateRawSync(Buffer.from(packed ?? "", "base64")).toString());
  }

  it("writes a page about the newest run and its conversations, and says so", async () => {
    const { code, stdout, stderr } = await artE("report -o page.html");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(/^3 tasks written to page\.html \(0\.\d MB\); their conversations are in the page\.\n$/);
    const html = read("page.html");
    const head = dataOf(html, "head") as { runs: { tasks: number; scores: Record<string, unknown> }[] };
    expect(head.runs).toHaveLength(1);
    expect(head.runs[0]).toMatchObject({
      tasks: 3,
      completed: 3,
      failed: 0,
      endings: { answered: 3 },
      dataset: "questions.jsonl",
    });
    expect(head.runs[0]?.scores.foundGold).toMatchObject({ value: 1, n: 3, low: expect.closeTo(0.4385, 4), high: 1 });
    expect(dataOf(html, "questions")).toHaveLength(3);
    const trace = unpacked(/id="trace-0-4-1">([\w+/=]+)</.exec(html)?.[1]);
    const [gold] = trace.gold;
    expect(gold).toMatchObject({ messageId: demoQuestion(4).message_ids[0], reached: "read" });
    expect(gold.body.length).toBeGreaterThan(20);
    expect(trace.steps.map((step: { role: string }) => step.role)).toEqual([
      "system",
      "user",
      "assistant",
      "assistant",
      "assistant",
    ]);
  });

  it("puts the conversations into a folder next to the page, and replaces them the next time", async () => {
    for (const _ of ["once", "again"]) {
      const { code, stderr } = await artE("report --traces folder -o beside.html");
      expect(code).toBe(0);
      expect(stderr).toContain("its conversations are in the folder beside-traces. Keep both in the same place.");
    }
    expect(readdirSync(path("beside-traces")).sort()).toEqual(["0-1-1.js", "0-2-1.js", "0-4-1.js", "READ-ME.txt"]);
    expect(readdirSync(path("")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    expect(read("beside.html")).toContain("'strict-dynamic'");
  });

  it("does not touch a folder that no report created", async () => {
    mkdirSync(path("mine-traces"));
    write("mine-traces/diary.txt", "dear diary");
    const { code, stderr } = await artE("report --traces folder -o mine.html");
    expect(code).toBe(2);
    expect(stderr).toContain("mine-traces: it already exists and does not belong to a report.");
    expect(read("mine-traces/diary.txt")).toBe("dear diary");
    expect(existsSync(path("mine.html"))).toBe(false);
  });

  it("writes a smaller page, without conversations, to stdout", async () => {
    const { code, stdout, stderr } = await artE("report --traces none");
    expect(code).toBe(0);
    expect(stdout.startsWith("<!doctype html>\n")).toBe(true);
    expect(stdout).not.toContain('id="trace-');
    expect(stderr).toContain("3 tasks written; without their conversations: art-e show RUN/TASK shows them.");
  });

  it("shows several runs side by side with --format md", async () => {
    const { stdout: listed } = await artE("stats --runs --json");
    const [newer, older] = JSON.parse(listed).map(({ id }: { id: string }) => id);
    const { code, stdout } = await artE(`report ${older} ${newer} --format md`);
    expect(code).toBe(0);
    expect(stdout).toContain(`| Run | \`${older}\` | \`${newer}\` |`);
    expect(stdout).toMatch(/\| Gold mail found \| 1\.000 \(0\.43\d to 1\.000; n 3\) \| /);
    expect(stdout).toContain("| email_search | 3 | 0 |");
    expect(stdout).toContain("<details><summary>Sources correct by mailbox</summary>");
  });

  it("writes one line per task with --format csv", async () => {
    const { code, stderr } = await artE("report --format csv -o tasks.csv");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "3 tasks written to tasks.csv.\n" });
    const rows: Record<string, string>[] = parse(read("tasks.csv"), { columns: true, bom: true });
    expect(rows.map((row) => row.taskId)).toEqual(["1", "2", "4"]);
    expect(rows[0]?.question).toBe(demoQuestion(1).question);
    expect(rows[0]?.foundGold).toBe("1");
  });

  it("prints the figures with --json, and the path of the page", async () => {
    const { stdout } = await artE("report --json");
    const { runs, scores } = JSON.parse(stdout);
    expect(runs[0].slices.inbox.length).toBeGreaterThan(0);
    expect(scores.map(({ name }: { name: string }) => name)).toContain("semanticScore");
    const page = JSON.parse((await artE("report --json -o json.html")).stdout);
    expect(page).toMatchObject({ output: "json.html", traces: { kind: "embed" } });
    expect(page.bytes).toBe(statSync(path("json.html")).size);
  });

  it.each([
    ["report --format csv --traces none", "--traces only applies to --format html."],
    ["report --traces folder", "--traces folder cannot be used if the page goes to stdout."],
    ["report latest latest", /^art-e: Run run_\S+ is listed twice\.$/m],
    ["report run_nowhere", 'Unknown run "run_nowhere"'],
    ["report -o nowhere/page.html", "--output: Cannot write nowhere/page.html: the folder nowhere does not exist."],
    ["report --format pdf", "--format: expected html or md or csv."],
  ])("rejects %s", async (line, message) => {
    const { code, stdout, stderr } = await artE(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it("never overwrites a results file that it reads", async () => {
    await artE(`run -a baseline --dataset ${QUESTIONS} --ids 1 --quiet --output input.json`);
    const results = read("input.json");
    for (const line of ["report input.json --format md -o input.json", "report input.json -o ./input.json"]) {
      const { code, stderr } = await artE(`${line} --overwrite`);
      expect(code).toBe(2);
      expect(stderr).toContain("input.json is a results file to report, which would be overwritten.");
    }
    mkdirSync(path("folder"));
    write("folder/tasks.csv", results);
    const { code, stderr } = await artE("report folder/tasks.csv --csv folder --overwrite");
    expect(code).toBe(2);
    expect(stderr).toContain("folder/tasks.csv is a results file to report, which would be overwritten.");
    expect([read("input.json"), read("folder/tasks.csv")]).toEqual([results, results]);
  });
});

describe("reports about a suite", () => {
  /** Reports on suite runs by the built program: tables, Markdown, figures and comparison. */

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

  describe("the report command", () => {
    it("writes the tasks and their summaries with --format csv, as tables in which a spreadsheet executes nothing", async () => {
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
      // The second call replaces the tables.
      expect(JSON.parse((await artE("report run_after --csv tables --json")).stdout).runs).toEqual(["run_after"]);
      expect(rowsOf("tables/scores.csv")[0]).toMatchObject({ runId: "run_after", value: "1" });
      const stats = await artE("stats --run run_before --csv figures --json");
      expect(JSON.parse(stats.stdout).runId).toBe("run_before");
      expect(read("figures/pairs.csv")).toBe(pairs);
      expect((await artE("stats --split test --csv figures")).stderr).toMatch(/^art-e: --csv requires a run\.$/m);
    });

    it("overwrites only its own files", async () => {
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
        stderr: expect.stringContaining("cannot be combined with --output"),
      });
    });
  });

  it("lists endings, pairs and slices with --format md, and escapes markup in strings", async () => {
    const { stdout } = await artE("report run_before --format md");
    expect(stdout).toContain("| Graded | 2 of 3 |\n| States | ended 2, unsupported 1 (not graded) |");
    expect(stdout).toContain("| Task score | 1 | 0.000 | 1.000 | +1.000 | 1.000 (sign flips) | 1, 0, 0 |");
    expect(stdout).toContain("Left out: tasks whose counterpart is not in the run 1.");
    expect(stdout).toContain("| up to 5 | 2 | 3.0 | 1.0 | 1.0 |");
    expect(stdout).toContain("&#124;pipes&#124;");
    expect(stdout).not.toContain("Mailbox");
  });

  it("prints the analysis below the totals with stats --run, and per suite slice with --by", async () => {
    const { stdout } = await artE("stats --run run_before");
    expect(stdout).toMatch(/^Graded: +2 of 3; 1 not graded and not in any average$/m);
    expect(stdout).toMatch(/^Solved: +0\.500 \[.+\] n=2; 0\.333 with failed tasks as wrong$/m);
    expect(stdout).toMatch(/^States: +ended 2, unsupported 1 \(not graded\)$/m);
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

  it("pairs the tasks of both runs in compare, and counts failed ones as wrong", async () => {
    const { code, stdout } = await artE("compare run_before run_after");
    expect(code).toBe(0);
    expect(stdout).toContain("run_after against run_before: 3 tasks in both\n");
    expect(stdout).toMatch(/^Task score +3 +0\.333 +0\.667 +\+0\.333 .+ 1\/0\/2 /m);
    expect(stdout).toContain("Failed tasks count as wrong (1 in the first, 1 in the second).");
    expect(stdout).toContain("  Without them: Task score +0.500 [");
  });
});
