import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { interruptTwice, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

const { artE, path, readJson, start } = workFolder({ mail: MAIL });

const AGENT = join(import.meta.dirname, "../agents/mcp-agent.mjs");

const commandOf = (log: string, behaviour = "answer") => `"${process.execPath}" '${AGENT}' "${path(log)}" ${behaviour}`;

const run = (command: string, ...more: string[]) =>
  artE(["run", "--agent-command", command, "--dataset", QUESTIONS, "--quiet", ...more]);

/** A zombie that nobody has fetched is as good as gone. */
function isRunning(pid: number): boolean {
  const { status, stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return status === 0 && !stdout.trim().startsWith("Z");
}

const logLines = (name: string) => readFileSync(path(name), "utf8").trim().split("\n");

it("a program answers with our tools, is used again, and everything it called is in the trace", async () => {
  const { code, stderr } = await run(
    commandOf("a.log"),
    "-a",
    "mine",
    "-l",
    "6",
    "--concurrency",
    "2",
    "-o",
    path("a.json"),
    "--price",
    "1,2",
  );
  expect([code, stderr]).toEqual([0, ""]);
  const results = resultsSchema.parse(readJson("a.json"));
  expect(results).toMatchObject({ agentId: "mine", model: expect.stringMatching(/^command\/node/), completedTasks: 6 });
  expect(results.settings).toMatchObject({
    agentVersion: 0,
    tools: ["email_search", "email_get"],
    elsewhere: { kind: "command", argv: [process.execPath, AGENT, path("a.log"), "answer"] },
  });
  // The tools are bound, so the gold mail is found as by any agent, and the answer's source is scored.
  expect(results.foundGold).toBe(1);
  expect(results.sourcesCorrect).toBeGreaterThan(0.5);
  expect(results.usage).toMatchObject({ inputTokens: 600, outputTokens: 60 });
  expect(results.costUsd).toBeCloseTo((600 * 1 + 60 * 2) / 1e6);
  const log = logLines("a.log");
  expect(log.filter((line) => line.endsWith("start"))).toHaveLength(2);
  expect(log.filter((line) => line.endsWith(" end"))).toHaveLength(2);
  const urls = log.flatMap((line) => /http:\S+/.exec(line) ?? []);
  expect(new Set(urls).size).toBe(6);

  const [trace] = jsonLines((await artE("export-traces")).stdout);
  expect(trace.toolCalls.map((call: { name: string }) => call.name)).toEqual(["email_search", "email_get"]);
  expect(trace.messages.map((message: { role: string }) => message.role).join(" ")).toBe(
    "user assistant tool assistant tool assistant assistant",
  );
  expect(trace.turns).toHaveLength(1);
  expect(log.join("\n")).toContain(`${trace.task.inbox_address} ${trace.task.query_date} 10 http://127.0.0.1:`);
});

it("a program that dies is started again for the next question, and says why it died", async () => {
  const { code } = await run(commandOf("b.log", "crash"), "-l", "3", "--concurrency", "1", "-o", path("b.json"));
  expect(code).toBe(3);
  const { taskResults } = readJson("b.json");
  expect(taskResults).toHaveLength(3);
  for (const { ending, error } of taskResults) {
    expect(ending).toBe("model_error");
    expect(error).toMatch(/the program ended \(exit code 3\) without an answer: ready, with the key \[key\]/);
  }
  expect(new Set(logLines("b.log").map((line) => line.split(" ")[0])).size).toBe(3);
});

it("a program that hangs is ended at the task's time, with all that it has started", async () => {
  const { code } = await run(
    commandOf("c.log", "hang"),
    "-l",
    "2",
    "--concurrency",
    "2",
    "--task-timeout",
    "15",
    "-o",
    path("c.json"),
  );
  expect(code).toBe(3);
  expect(readJson("c.json").endings).toEqual({ timeout: 2 });
  const pids = new Set(logLines("c.log").map((line) => Number(line.split(" ")[0])));
  expect(pids.size).toBe(2);
  for (const pid of pids) await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
});

it("Ctrl-C ends the programs too, and the run can go on", async () => {
  const { child, ended } = start([
    "run",
    "--agent-command",
    commandOf("g.log", "hang"),
    "--dataset",
    QUESTIONS,
    "-l",
    "2",
    "--quiet",
  ]);
  await expect.poll(() => existsSync(path("g.log")) && logLines("g.log").length, { timeout: 60_000 }).toBe(4);
  await interruptTwice(child);
  expect(await ended).toMatchObject({ code: 130, stderr: expect.stringContaining("0 of 2 tasks are saved") });
  const pids = new Set(logLines("g.log").map((line) => Number(line.split(" ")[0])));
  for (const pid of pids) await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false);
}, 120_000);

it.each([
  ["garbage", "model_error", /no answer \(answer: .*\): \{"id": 5/],
  ["error", "model_error", /my model is down/],
  ["silent", "out_of_turns", null],
])("a program that answers with %s ends its task as %s", async (behaviour, ending, error) => {
  await run(commandOf(`${behaviour}.log`, behaviour), "-l", "1", "-o", path("d.json"));
  const [result] = readJson("d.json").taskResults;
  expect(result.ending).toBe(ending);
  if (error === null) expect(result.error).toBeUndefined();
  else expect(result.error).toMatch(error);
});

it("a program that cannot be started stops the run, which goes on with the right one only by force", async () => {
  const first = await run("no-such-program --x", "-l", "3");
  expect(first.code).toBe(1);
  expect(first.stderr).toContain("no-such-program cannot be started: ENOENT");
  expect(first.stderr).toContain(
    "See that the program is there and can be started; then go on with: art-e run --resume",
  );
  expect(first.stderr).not.toContain("a model that the server has");
  const other = await artE(["run", "--resume", "latest", "--agent-command", commandOf("e.log"), "--quiet"]);
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("elsewhere was ") });
  const forced = await artE(["run", "--resume", "latest", "--force", "--agent-command", commandOf("e.log"), "--quiet"]);
  expect([forced.code, forced.stderr]).toEqual([0, ""]);
});

it("a run of a program is repeated and resumed as it was begun", async () => {
  await run(commandOf("f.log"), "-a", "mine", "--ids", "1,2");
  const again = await artE("run --repeat latest --json --quiet");
  expect([again.code, JSON.parse(again.stdout).completedTasks]).toEqual([0, 2]);
  const more = await artE("run --resume latest --json --quiet");
  expect([more.code, JSON.parse(more.stdout).completedTasks]).toEqual([0, 2]);
  const shown = await artE("agents show --run latest");
  expect(shown).toMatchObject({ code: 2, stderr: expect.stringContaining("is external (command)") });
});

it.each([
  ["--api-url http://x.example", "name different agents"],
  ["--model-id openai/gpt-4.1", "--model-id does not reach"],
  ["--record r.jsonl", "--record does not reach"],
  ["-w ws", "--workspace is for --api-url"],
])("with %s it is refused", async (more, message) => {
  const { code, stderr } = await run("true", ...more.split(" "));
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
