import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { BIN, demoQuestion, jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

const { artE, path, read, readJson } = workFolder({ mail: MAIL });

/** A person who types these lines. `isOpen` leaves the input open. */
function type(line: string, input: readonly string[], isOpen = false) {
  const child = spawn(process.execPath, [BIN, ...line.split(" ")], {
    cwd: path("."),
    env: { PATH: process.env.PATH ?? "", HOME: path("."), NO_COLOR: "1" },
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) child[name].on("data", (text) => (said[name] += text));
  child.stdin.write(input.map((text) => `${text}\n`).join(""));
  if (!isOpen) child.stdin.end();
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, ...said })),
  );
  return { child, said, ended };
}

const RUN = `run -a human --dataset ${QUESTIONS} --no-judge`;

describe("art-e run -a human", () => {
  it("lets a person search, read and answer with sources, and records the same kind of trace as for any agent", async () => {
    const { question, answer } = demoQuestion(1);
    const { ended } = type(`${RUN} --ids 1 -o human.json`, [
      "search adder index",
      "read 1",
      `answer ${answer}`,
      "99",
      "1",
    ]);
    const { code, stderr } = await ended;
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain(question);
    expect(stderr).toContain("as of 2000-04-17");
    expect(stderr).toContain("They authorised me to sign at index plus 4.5");
    expect(stderr).toContain("99 is not the number of a listed email");
    const { taskResults, settings } = resultsSchema.parse(readJson("human.json"));
    expect(settings).toMatchObject({ agentId: "human", model: "human/terminal", externalAgent: { kind: "human" } });
    expect(settings.taskTimeoutMs).toBe(24 * 3_600_000);
    expect(taskResults[0]).toMatchObject({
      agentAnswer: answer,
      semanticScore: 1,
      sourcesCorrect: true,
      foundGold: true,
      readGold: true,
      turns: 3,
      ending: "answered",
      costUsd: 0,
    });
    expect((await artE("export-traces --run latest -o human.jsonl")).code).toBe(0);
    const [trace] = jsonLines(read("human.jsonl"));
    expect(trace.toolCalls.map(({ name, turn }: { name: string; turn: number }) => [name, turn])).toEqual([
      ["email_search", 0],
      ["email_get", 1],
    ]);
    expect((await artE("report --run latest -o human.html")).code).toBe(0);
  });

  it("accepts an abstention, explains wrong commands and errors of tools, and repeats the question", async () => {
    const { ended } = type(`${RUN} --ids 1 -o unknown.json`, [
      "read <no-such@mail>",
      "search",
      "read 7",
      "more",
      "answer",
      "dance",
      "q",
      "unknown",
    ]);
    const { code, stderr } = await ended;
    expect(code).toBe(0);
    for (const text of [
      "enter some words",
      "enter the number of an email",
      "no further text",
      "enter the answer",
      "no-such@mail",
    ]) {
      expect(stderr).toContain(text);
    }
    expect(stderr.split(demoQuestion(1).question)).toHaveLength(3);
    expect(resultsSchema.parse(readJson("unknown.json")).taskResults[0]).toMatchObject({
      ending: "dont_know",
      turns: 2,
    });
  });

  it("stops at the end of the input, and continues with --resume", async () => {
    const first = await type(`${RUN} -l 3 -o resumed.json`, ["unknown", "search adder"]).ended;
    expect(first.code).toBe(1);
    expect(first.stderr).toContain("1 of 3 tasks are saved. Continue:");
    const second = await type("run --resume latest", ["unknown", "unknown"]).ended;
    expect(second.code).toBe(0);
    expect(resultsSchema.parse(readJson("resumed.json"))).toMatchObject({ totalTasks: 3, status: "completed" });
  });

  it("stops at the second Ctrl-C, and does not save the unanswered question", async () => {
    const { child, said, ended } = type(`${RUN} -l 2 -o stopped.json`, ["unknown", "search adder"], true);
    await expect.poll(() => said.stderr.split("> ").length, { timeout: 20_000 }).toBeGreaterThanOrEqual(4);
    child.kill("SIGINT");
    await expect.poll(() => said.stderr).toContain("Stopping");
    await delay(100);
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 130 });
    expect((await type("run --resume latest", ["unknown"]).ended).code).toBe(0);
    expect(resultsSchema.parse(readJson("stopped.json")).totalTasks).toBe(2);
  });

  it.each(["--model-id openai/m", "--concurrency 2", "--max-turns 3", "--queue redis://127.0.0.1:1"])(
    "rejects %s with an error that names the flag",
    async (flag) => {
      const [name = ""] = flag.split(" ");
      expect(await artE(`${RUN} ${flag}`)).toMatchObject({ code: 2, stderr: expect.stringContaining(name) });
    },
  );
});
