import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { traceSchema } from "../../../src/traces/trace.js";
import { BIN, demoQuestion, jsonLines, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

const { artE, path, read, readJson, write } = workFolder();

describe("demo", () => {
  it("shows the whole way without a key: mail, a run, its results and traces", async () => {
    // A server that the environment names for other runs is not asked.
    const { code, stdout, stderr } = await artE("demo", { API_URL: "http://127.0.0.1:9" });
    expect(code).toBe(0);
    expect(readdirSync(path("demo-output")).sort()).toEqual(["demo.db", "results.json", "traces.jsonl"]);
    expect(resultsSchema.parse(readJson("demo-output/results.json"))).toMatchObject({ completedTasks: 73 });
    const traces = jsonLines(read("demo-output/traces.jsonl"));
    expect(traces.map((trace) => traceSchema.strict().parse(trace).taskId)).toHaveLength(73);
    expect(stdout).toMatch(/ART-E Import[\s\S]+ART-E Benchmark Results: baseline/);

    // What it advises to type next works as it stands there.
    const typed = [...stderr.matchAll(/^ {2}node (\S+) (.+)$/gm)].map(([, , line = ""]) => line);
    expect(stderr).toContain(`node ${BIN} show `);
    expect(typed.map((line) => line.split(" ")[0])).toEqual(["show", "search", "report", "serve"]);
    // A server would not end.
    for (const line of typed.slice(0, 3)) expect(await artE(`${line} --quiet`)).toMatchObject({ code: 0, stderr: "" });
    expect(read("demo-output/report.html")).toContain("<!doctype html>");
  });

  it("called again adds a run to those that were made since, and leaves what else lies in its folder", async () => {
    write("demo-output/mine.txt", "kept");
    const questions = "--dataset demo-output/../question.jsonl --db demo-output/demo.db";
    write("question.jsonl", `${JSON.stringify(demoQuestion(1))}\n`);
    expect(await artE(`run -a baseline ${questions} --quiet`)).toMatchObject({ code: 0 });
    expect(await artE("demo --quiet")).toMatchObject({ code: 0, stderr: "" });
    expect(read("demo-output/mine.txt")).toBe("kept");
    const runs = JSON.parse((await artE("stats --runs --json --db demo-output/demo.db")).stdout);
    expect(runs.map((run: { totalTasks: number }) => run.totalTasks).sort()).toEqual([1, 73, 73]);
  });

  it("with --json writes one document", async () => {
    const { code, stdout, stderr } = await artE("demo --json --quiet -o other");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      import: { read: 517 },
      run: { completedTasks: 73 },
      files: { results: "other/results.json", traces: "other/traces.jsonl" },
    });
  });

  it("refuses a folder that is a file", async () => {
    write("taken", "");
    const { code, stderr } = await artE("demo -o taken");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^art-e: taken cannot be used for the demo: .+\n {7}Name another folder with --output\.\n$/);
  });
});
