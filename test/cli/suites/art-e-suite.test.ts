import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { TaskResult } from "../../../src/traces/task-result.js";
import { QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/** ART-E questions as a suite folder: written, checked, and run with exactly the scores of `art-e run`. */

const { artE, path, read, readJson, write } = workFolder({ demo: "answered" });
const EXPORT = `suite export art-e --dataset ${QUESTIONS} -l 0`;

const resultsOf = (file: string) => resultsSchema.parse(readJson(file));

async function ran(line: string): Promise<void> {
  const { code, stderr } = await artE(`${line} --quiet`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
}

/** A task's result without times or ids. */
function answerOf(result: TaskResult) {
  const {
    taskId: _,
    traceId,
    executionTimeMs,
    modelTimeMs,
    toolTimeMs,
    waitingTimeMs,
    suite,
    scores,
    ...answer
  } = result;
  const { taskScore, taskSolved, ...others } = scores;
  return { ...answer, scores: others };
}

beforeAll(() => ran(`${EXPORT} -o mail`));

describe("art-e suite export art-e", () => {
  it("scores every question like art-e run", async () => {
    await ran("run -a baseline --suite mail --index test_all.json -o tasks.json");
    const [questions, tasks] = [resultsOf("results.json"), resultsOf("tasks.json")];
    const { email } = readJson("mail/test_all.json") as { email: string[] };
    const byTask = new Map(tasks.taskResults.map((result) => [result.taskId, result]));
    // The index has the order of the questions, as the demo dataset has that of their ids.
    const inOrder = email.map((id) => byTask.get(id)).filter((result) => result !== undefined);
    expect(inOrder.map(answerOf)).toEqual(questions.taskResults.map(answerOf));
    expect(questions.taskResults).toHaveLength(73);
    for (const { suite, scores } of inOrder) {
      expect(suite).toMatchObject({ name: "mail", tool: "email", state: "success", score: scores.semanticScore });
      expect(scores.taskScore).toBe(scores.semanticScore);
    }
    const { taskScore, taskSolved, ...scores } = tasks.scores;
    expect(Object.keys(scores)).toEqual(Object.keys(questions.scores));
    for (const [name, { n }] of Object.entries(questions.scores)) expect(scores[name]?.n).toBe(n);
    expect(taskScore).toMatchObject({ n: 73, value: scores.semanticScore?.value });
    expect(taskSolved?.n).toBe(73);
  });

  it("hides the gold answers from the agent, and shows them to readers of the trace", async () => {
    const { stdout } = await artE("export-traces --run latest --format jsonl");
    const traces = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    for (const { messages, toolCalls, task } of traces) {
      const said = messages.filter(({ role }: { role: string }) => role === "system" || role === "user");
      expect(JSON.stringify(said)).not.toContain(task.emailQuestion.message_ids[0]);
      expect(said.map(({ content }: { content: string }) => content)).toEqual([
        expect.stringContaining(task.emailQuestion.inbox_address),
        task.instruction,
      ]);
      expect(toolCalls.map(({ name }: { name: string }) => name)).not.toContain("run_shell");
    }
    expect(traces).toHaveLength(73);
  });

  it("writes the same tasks again, and never overwrites other files", async () => {
    await ran(`${EXPORT} -o again`);
    expect(readdirSync(path("again/examples/email"))).toEqual(readdirSync(path("mail/examples/email")));
    expect(read("again/test_all.json")).toBe(read("mail/test_all.json"));
    const before = readdirSync(path("."));
    const over = await artE(`${EXPORT} -o again`);
    expect(over).toMatchObject({ code: 2, stderr: expect.stringContaining("again: it already exists") });
    const nowhere = await artE(`${EXPORT} -o none/suite`);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining("--output") });
    expect(readdirSync(path("."))).toEqual(before);
  });

  it("writes a suite for which suite check, list and the oracle report no problems", async () => {
    const check = await artE("suite check mail");
    expect(check).toMatchObject({ code: 0, stdout: "mail: 73 tasks read, 0 errors, 0 warnings\n" });
    expect((await artE("suite list mail")).stdout).toContain("73 tasks: 73 mailbox");
    const oracle = await artE("suite check mail --oracle mail/oracle.jsonl");
    expect(oracle).toMatchObject({ code: 0, stdout: "73 equal, 0 different, 0 skipped\n" });
    await ran("run -a oracle --suite mail --limit 5 -o gold.json");
    for (const { scores } of resultsOf("gold.json").taskResults) {
      expect(scores).toMatchObject({ exactMatch: 1, sourcesF1: 1, taskScore: 1 });
    }
  });
});

describe("a suite made from questions", () => {
  it("accepts some of its scorers in a second scoring", async () => {
    await ran("run -a baseline --suite mail --limit 3 --scorers rougeL");
    const again = await artE("score --run latest --no-judge --json");
    expect(again.code).toBe(0);
    expect(Object.keys(JSON.parse(again.stdout).scores)).toEqual(expect.arrayContaining(["tokenF1", "taskScore"]));
  });

  it("causes an error if its mailboxes are not imported, or if its arguments are wrong", async () => {
    const [id = ""] = (readJson("mail/test_all.json") as { email: string[] }).email;
    const elsewhere = await artE(`run -a baseline --suite mail --db other.db`);
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining("does not contain any mail") });
    await ran(`${EXPORT} -o wrong`);
    const file = join("wrong/examples/email", id, `${id}.json`);
    const task = readJson(file);
    task.config[0].arguments.query_date = "May";
    task.evaluation.arguments.answer = 7;
    write(file, JSON.stringify(task));
    const check = await artE("suite check wrong");
    expect(check.code).toBe(1);
    expect(check.stdout).toContain("error arguments_invalid: 2");
    expect(check.stdout).toContain("config[0].arguments.query_date: expected a date (YYYY-MM-DD)");
    await artE(`run -a baseline --suite wrong --task ${id} --quiet -o wrong.json`);
    const [result] = resultsOf("wrong.json").taskResults;
    expect(result).toMatchObject({ ending: "not_started", suite: { state: "setup_error", score: null } });
    expect(result?.error).toContain("attach_inbox");
  });
});
