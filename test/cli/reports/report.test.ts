import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { parse } from "csv-parse/sync";
import { beforeAll, describe, expect, it } from "vitest";
import { demoQuestion, MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, read, write } = workFolder({ mail: MAIL });

beforeAll(async () => {
  for (const ids of ["1,2,3", "1,2,4"]) {
    const { code, stderr } = await artE(`run -a baseline --dataset ${QUESTIONS} --ids ${ids} --quiet`);
    if (code !== 0) throw new Error(stderr);
  }
});

/** The data that stands in a page, by the name of its element. */
function dataOf(html: string, id: string): unknown {
  const [, json = "null"] =
    new RegExp(`<script type="application/json" id="${id}">(.*?)</script>`, "s").exec(html) ?? [];
  return JSON.parse(json);
}

function unpacked(packed: string | undefined) {
  return JSON.parse(inflateRawSync(Buffer.from(packed ?? "", "base64")).toString());
}

describe("report", () => {
  it.concurrent("writes a page of the newest run with its conversations in it, and says so", async ({ expect }) => {
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
    expect(head.runs[0]?.scores.foundGold).toEqual({ value: 1, n: 3, low: expect.closeTo(0.4385, 4), high: 1 });
    expect(dataOf(html, "questions")).toHaveLength(3);
    const trace = unpacked(/id="trace-0-4-1">([\w+/=]+)</.exec(html)?.[1]);
    const [gold] = trace.gold;
    expect(gold).toMatchObject({ messageId: demoQuestion(4).message_ids[0], reached: "read" });
    expect(gold.body.length).toBeGreaterThan(20);
    expect(trace.steps.map((step: { role: string }) => step.role)).toEqual([
      ...["system", "user", "assistant", "assistant", "assistant"],
    ]);
  });

  it.concurrent("puts the conversations into a folder beside it, and does so again", async ({ expect }) => {
    for (const _ of ["once", "again"]) {
      const { code, stderr } = await artE("report --traces folder -o beside.html");
      expect(code).toBe(0);
      expect(stderr).toContain("their conversations are in the folder beside-traces beside it: keep the two together.");
    }
    expect(readdirSync(path("beside-traces")).sort()).toEqual(["0-1-1.js", "0-2-1.js", "0-4-1.js", "READ-ME.txt"]);
    expect(readdirSync(path("")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    expect(read("beside.html")).toContain("'strict-dynamic'");
  });

  it.concurrent("leaves a folder alone that is not of a report", async ({ expect }) => {
    mkdirSync(path("mine-traces"));
    write("mine-traces/diary.txt", "dear diary");
    const { code, stderr } = await artE("report --traces folder -o mine.html");
    expect(code).toBe(2);
    expect(stderr).toContain("mine-traces, where the conversations would go, is there already and is not of a report.");
    expect(read("mine-traces/diary.txt")).toBe("dear diary");
    expect(existsSync(path("mine.html"))).toBe(false);
  });

  it.concurrent("writes a page without conversations, smaller, to stdout", async ({ expect }) => {
    const { code, stdout, stderr } = await artE("report --traces none");
    expect(code).toBe(0);
    expect(stdout.startsWith("<!doctype html>\n")).toBe(true);
    expect(stdout).not.toContain('id="trace-');
    expect(stderr).toContain("3 tasks written; without their conversations: art-e show RUN/TASK shows them.");
  });

  it.concurrent("--format md tells several runs beside one another", async ({ expect }) => {
    const { stdout: listed } = await artE("stats --runs --json");
    const [newer, older] = JSON.parse(listed).map(({ id }: { id: string }) => id);
    const { code, stdout } = await artE(`report ${older} ${newer} --format md`);
    expect(code).toBe(0);
    expect(stdout).toContain(`| Run | \`${older}\` | \`${newer}\` |`);
    expect(stdout).toMatch(/\| Gold mail found \| 1\.000 \(0\.43\d to 1\.000; n 3\) \| /);
    expect(stdout).toContain("| email_search | 3 | 0 |");
    expect(stdout).toContain("<details><summary>Semantic score by mailbox</summary>");
  });

  it.concurrent("--format csv writes a line a task", async ({ expect }) => {
    const { code, stderr } = await artE("report --format csv -o tasks.csv");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "3 tasks written to tasks.csv.\n" });
    const rows: Record<string, string>[] = parse(read("tasks.csv"), { columns: true, bom: true });
    expect(rows.map((row) => row.taskId)).toEqual(["1", "2", "4"]);
    expect(rows[0]?.question).toBe(demoQuestion(1).question);
    expect(rows[0]?.foundGold).toBe("1");
  });

  it.concurrent("--json gives the figures, and of a page where it is", async ({ expect }) => {
    const { stdout } = await artE("report --json");
    const { runs, scores } = JSON.parse(stdout);
    expect(runs[0].slices.inbox.length).toBeGreaterThan(0);
    expect(scores.map(({ name }: { name: string }) => name)).toContain("semanticScore");
    const page = JSON.parse((await artE("report --json -o json.html")).stdout);
    expect(page).toMatchObject({ output: "json.html", traces: { kind: "embed" } });
    expect(page.bytes).toBe(statSync(path("json.html")).size);
  });

  it.concurrent.each([
    ["report --format csv --traces none", "--traces is for --format html; csv has no conversations."],
    ["report --traces folder", "--traces folder puts the folder beside the page, and the page goes to stdout."],
    ["report latest latest", /^art-e: The run run_\S+ is named twice\.$/m],
    ["report run_nowhere", 'There is no run "run_nowhere"'],
    ["report -o nowhere/page.html", "--output: nowhere/page.html cannot be written"],
    ["report --format pdf", "--format: expected html or md or csv."],
  ])("%s is refused", async (line, message) => {
    const { code, stdout, stderr } = await artE(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it("never writes over a results file that it reads", async () => {
    await artE(`run -a baseline --dataset ${QUESTIONS} --ids 1 --quiet --output input.json`);
    const results = read("input.json");
    for (const line of ["report input.json --format md -o input.json", "report input.json -o ./input.json"]) {
      const { code, stderr } = await artE(`${line} --overwrite`);
      expect(code).toBe(2);
      expect(stderr).toContain("input.json is a results file to report, and would be destroyed.");
    }
    mkdirSync(path("folder"));
    write("folder/tasks.csv", results);
    const { code, stderr } = await artE("report folder/tasks.csv --csv folder --overwrite");
    expect(code).toBe(2);
    expect(stderr).toContain("folder/tasks.csv is a results file to report, and would be destroyed.");
    expect([read("input.json"), read("folder/tasks.csv")]).toEqual([results, results]);
  });
});
