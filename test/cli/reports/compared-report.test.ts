import { spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { beforeAll, expect, it } from "vitest";
import { BIN, MAIL, QUESTIONS, workFolder } from "../art-e.js";

/** Reports on several runs and results files, by the built program. */

const { artE, path, read, write } = workFolder({ mail: MAIL });

let runIds: string[] = [];

beforeAll(async () => {
  for (const [file, turns] of [
    ["one.json", "10"],
    ["two.json", "2"],
  ] as const) {
    const { code, stderr } = await artE(
      `run -a baseline --dataset ${QUESTIONS} -l 12 --max-turns ${turns} -o ${file} --quiet`,
    );
    if (code !== 0) throw new Error(stderr);
  }
  runIds = ["one.json", "two.json"].map((file) => JSON.parse(read(file)).runId);
});

it("compares results files even if there is no database, like runs in a database", async () => {
  const stored = JSON.parse((await artE(["report", ...runIds, "--json"])).stdout);
  const { code, stdout } = await artE("report one.json two.json --json --db nowhere.db");
  expect(code).toBe(0);
  expect(existsSync(path("nowhere.db"))).toBe(false);
  const { comparisons, runs, scores } = JSON.parse(stdout);
  expect(comparisons).toEqual(stored.comparisons);
  expect(scores).toEqual(stored.scores);
  expect(runs.map(({ scores: figures }: { scores: unknown }) => figures)).toEqual(
    stored.runs.map(({ scores: figures }: { scores: unknown }) => figures),
  );
  expect(comparisons).toMatchObject([{ candidate: 1, questions: { common: 12 }, headline: "sourcesCorrect" }]);
  expect(comparisons[0].outcomes).toBeUndefined();
  const compared = JSON.parse((await artE(["compare", ...runIds, "--json"])).stdout);
  expect(comparisons[0].metrics).toEqual(compared.comparisons[0].metrics);
});

it("writes a page, task rows and tables from results files in report", async () => {
  const { stderr } = await artE("report one.json two.json -o page.html --db nowhere.db");
  expect(stderr).toMatch(/^24 tasks written to page\.html \(0\.\d MB\); results files hold no conversations\.\n$/);
  expect(read("page.html")).not.toContain('id="trace-');
  await artE("report one.json --format csv -o tasks.csv --db nowhere.db");
  expect(read("tasks.csv").trim().split("\r\n")).toHaveLength(13);
  expect((await artE("report one.json two.json --csv tables --db nowhere.db")).code).toBe(0);
  expect(read("tables/scores.csv")).toContain(runIds[1]);
  // One report per format.
  const mixed = await artE(`report ${runIds[0]} two.json -o mixed.html`);
  expect(mixed.stderr).toContain("24 tasks written to mixed.html");
  expect(read("mixed.html")).toMatch(/id="trace-0-1-1"/);
  expect(read("mixed.html")).not.toMatch(/id="trace-1-/);
});

it("writes the verdict in words, and every score, with report --format md", async () => {
  const { stdout } = await artE("report one.json two.json --format md");
  expect(stdout).toMatch(/^### baseline · offline\/baseline · \w{6} against baseline · offline\/baseline · \w{6}$/m);
  expect(stdout).toMatch(/^Sources correct is worse: 0\.000 against 0\.\d{3}, a difference of -0\.\d{3} /m);
  expect(stdout).toMatch(/^\| Sources correct \| 12 \| .+ \| worse \|$/m);
});

it("shows a run's name in every format of report", async () => {
  const [first = "", second = ""] = runIds;
  expect((await artE(["runs", "rename", second, "Two turns"])).code).toBe(0);
  const markdown = (await artE(["report", first, "Two turns", "--format", "md"])).stdout;
  expect(markdown).toMatch(/^## ART-E: baseline · offline\/baseline, Two turns$/m);
  expect(markdown).toMatch(/^### Two turns against baseline · offline\/baseline$/m);
  expect(markdown).toMatch(/^\| Agent \| baseline · offline\/baseline \| baseline · offline\/baseline \|$/m);
  await artE(["report", "Two turns", "-o", "named.html"]);
  expect(read("named.html")).toContain("<title>ART-E report: Two turns</title>");
  const { runs } = JSON.parse((await artE(["report", "Two turns", first, "--json"])).stdout);
  expect(runs).toMatchObject([
    { name: "Two turns", label: "Two turns", agentId: "baseline" },
    { name: null, label: "baseline · offline/baseline" },
  ]);
  const compared = await artE(["compare", first, "Two turns"]);
  expect(compared.stdout).toMatch(/^Two turns +baseline +12 /m);
  expect(compared.stdout).toContain(`Two turns against ${first}: 12 questions in both`);
  expect((await artE(["stats", "--run", second])).stdout).toContain("Results: Two turns: baseline (offline/baseline)");
  const rows = await artE(["export-results", second, "--tables", "tasks", "--format", "csv"]);
  expect(rows.stdout).toMatch(/^\ufeff?runId,agentId,model,runName,taskId,/);
  expect(rows.stdout).toContain(",offline/baseline,Two turns,");
  // A results file contains the run's name from when it was written.
  await artE(["score", "--run", second, "--no-judge", "-o", "named.json"]);
  expect((await artE("compare one.json named.json --db nowhere.db")).stdout).toContain("Two turns against ");
  await artE(["gate", "Two turns", "--junit", "junit.xml"]);
  expect(read("junit.xml")).toContain('name="Two turns: baseline (offline/baseline), ');
  expect((await artE(["runs", "rename", second, "--remove"])).code).toBe(0);
});

it.each([
  ["report one.json one.json", /^art-e: Run run_\S+ is listed twice\.$/m],
  [`report gone.json`, "Results file gone.json does not exist."],
  [`report ${QUESTIONS}`, "is not a results file of art-e"],
  ["report --open --format md", "--open only applies to --format html."],
])("rejects %s in report", async (line, message) => {
  const { code, stdout, stderr } = await artE(line);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(message);
});

it("opens the page of report in the browser with --open, or prints its path", async () => {
  expect((await artE("report --open -o opened.html", { PATH: "/nowhere" })).stderr).toMatch(
    /written to opened\.html .+\nCannot start a browser. Open file:\/\/\S+\/opened\.html\n$/s,
  );
  write("xdg-open", '#!/bin/sh\necho "$1" > opened\n');
  chmodSync(path("xdg-open"), 0o755);
  const { code, stdout, stderr } = await artE("report --open", { PATH: `${path("")}:${process.env.PATH}` });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toMatch(/^12 tasks written to art-e-report\.html/);
  expect(read("opened").trim()).toBe(`file://${path("art-e-report.html")}`);
  expect(readFileSync(path("art-e-report.html"), "utf8")).toMatch(/^<!doctype html>/);
});

it("writes a file from report if stdout is a terminal", async () => {
  const line = `${process.execPath} ${BIN} report ${runIds.join(" ")} --no-progress`;
  const child = spawn("script", ["-qec", line, "/dev/null"], { cwd: path(""), stdio: ["ignore", "pipe", "inherit"] });
  const shown = await text(child.stdout);
  expect(shown).toMatch(
    /^24 tasks written to art-e-report\.html \(0\.\d MB\); their conversations are in the page\.\r\n/,
  );
  expect(shown).not.toContain("<html");
});
