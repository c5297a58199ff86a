import { cpSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import { answerFrames, type FakePlayground, type SeenChat, startPlayground } from "../../providers/fake-playground.js";
import { machinesStart } from "../../suites/machines-start.js";
import { demoQuestions, jsonLines, MAIL, QUESTIONS, ROOT, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

/** External agents on suite tasks: their inputs depend on the kind of task. */

const SUITE = join(ROOT, "fixtures/suites/demo");

describe("external agents", () => {
  const { artE, path, read, readJson } = workFolder({ mail: MAIL });

  const program = (name: string, log: string) =>
    `"${process.execPath}" '${join(import.meta.dirname, "../agents", name)}' "${path(log)}"`;

  const results = (name: string) => resultsSchema.parse(readJson(name));
  let server: FakePlayground | null = null;

  afterEach(async () => {
    await server?.close();
    server = null;
  });

  describe("as a program", needs("sandbox", machinesStart), () => {
    it("work in the task's machine over MCP, and their files get the grade", async () => {
      const command = program("machine-agent.mjs", "machine.log");
      const line = ["run", "--suite", SUITE, "--task", "142a807f,84401e16", "--agent-command", command, "-a", "mine"];
      const { code, stderr } = await artE([...line, "--quiet", "-o", path("machine.json")]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const { taskResults, settings } = results("machine.json");
      expect(taskResults.map(({ agentAnswer, suite }) => [agentAnswer, suite?.score, suite?.state])).toEqual([
        ["exit code 0", 1, "success"],
        ["exit code 0", 0, "success"],
      ]);
      const tools = ["run_shell", "execute_python", "read_file", "write_file", "list_files", "run_notebook"];
      expect(settings).toMatchObject({
        tools: [...tools, "search_documents"],
        scorers: ["taskScore", "taskSolved"],
        judge: null,
      });
      const [asked] = jsonLines(read("machine.log")).filter(({ id }) => id.startsWith("142a807f"));
      expect(asked).toEqual({
        id: "142a807f-2837-51cf-879a-45809fa50acf/1",
        instruction: expect.stringContaining("kiln"),
        snapshot: "base",
        home: "/home/user",
        max_turns: 10,
        tools: { mcp: { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/) } },
        offered: settings.tools,
      });
      const [trace] = jsonLines((await artE("export-traces")).stdout);
      expect(trace.toolCalls).toMatchObject([{ name: "run_shell", result: { exit_code: 0 } }]);
    });
  });

  describe("on questions as a suite", () => {
    const SELECT = `--dataset ${QUESTIONS} -l 2`;
    const scoresOf = (name: string) =>
      results(name)
        .taskResults.map(({ question, sources, scores: { taskScore: _, taskSolved: __, ...scores } }) => ({
          question,
          sources,
          scores,
        }))
        .sort((a, b) => (a.question < b.question ? -1 : 1));

    it("get the same inputs and scores as on questions, as a program, a server or an endpoint", async () => {
      expect((await artE(`suite export art-e ${SELECT} -o mail`)).code).toBe(0);
      server = await startPlayground(golden);
      const { url } = server;
      let first = 0;
      const agents = [
        ["--agent-command", program("mcp-agent.mjs", "mail.log")],
        ["--api-url", url, "--tell-task"],
        ["--agent-url", `${url}/v1`],
      ];
      for (const agent of agents) {
        const run = async (tasks: string, output: string) => {
          const line = ["run", ...tasks.split(" "), "-a", "mine", ...agent, "--concurrency", "1", "--quiet"];
          const { code, stderr } = await artE([...line, "-o", path(output)]);
          expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        };
        await run(`${SELECT} --overwrite`, "questions.json");
        const between = server.seen.length;
        await run("--suite mail --overwrite", "tasks.json");
        expect(scoresOf("tasks.json")).toEqual(scoresOf("questions.json"));
        const withoutId = ({ body: { metadata, ...body } }: SeenChat) => ({ ...body, ...metadata, task_id: "" });
        const bodies = server.seen.map((chat) => JSON.stringify(withoutId(chat)));
        expect(bodies.slice(between).sort()).toEqual(bodies.slice(first, between).sort());
        first = server.seen.length;
      }
      const { settings } = results("tasks.json");
      expect(settings.scorers).toEqual(expect.arrayContaining(["exactMatch", "taskScore"]));
    });

    it("cause an error for a server and an endpoint if a task has a machine", async () => {
      for (const flag of ["--api-url", "--agent-url"]) {
        const { code, stderr } = await artE(`run --suite ${SUITE} -a mine ${flag} http://127.0.0.1:9`);
        expect(code).toBe(2);
        expect(stderr).toMatch(new RegExp(`^art-e: ${flag}: 20 of 20 tasks are graded by their machine, .*\n`));
      }
    });
  });

  /** Answers with the gold answer, over the playground API or as a chat completion. */
  function golden({ path: asked, body }: SeenChat) {
    const said = body.messages.at(-1).content;
    const { answer = "", message_ids = [] } = demoQuestions.find(({ question }) => said.endsWith(question)) ?? {};
    if (!asked.endsWith("/completions")) return { chunks: answerFrames({ final: { answer, sources: message_ids } }) };
    const message = { role: "assistant", content: JSON.stringify({ answer, sources: message_ids }) };
    const headers = { "content-type": "application/json" };
    return { status: 200, headers, body: JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }) };
  }
});

describe("offline agents", () => {
  /** The tasks whose snapshots need no packages. */
  const HERE = "--tag cli -l 5 --quiet --json";
  const { artE, path, readJson } = workFolder();

  const scoresOf = (file: string) =>
    resultsSchema
      .parse(readJson(file))
      .taskResults.map(({ taskId, ending, suite }) => [`${taskId}`.slice(0, 8), ending, suite?.score]);

  describe("in art-e run --suite", needs("sandbox", machinesStart), () => {
    it("score 1 with the oracle's files in place, and 0 if nothing was done", { tags: ["slow"] }, async () => {
      for (const [agent, score] of [
        ["oracle", 1],
        ["noop", 0],
      ] as const) {
        const { code, stderr } = await artE(
          `run --suite ${SUITE} --tool terminal -a ${agent} ${HERE} -o ${agent}.json`,
        );
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        const scores = scoresOf(`${agent}.json`);
        expect(scores).toHaveLength(5);
        for (const task of scores) expect(task.slice(1)).toEqual(["answered", score]);
      }
    });

    it("resume the oracle's run with its original file", async () => {
      const suite = path("demo");
      cpSync(SUITE, suite, { recursive: true });
      const TASK = "142a807f-2837-51cf-879a-45809fa50acf";
      const input = join(suite, "examples/terminal", TASK, "kilns.log");
      const own = path("lines.jsonl");
      renameSync(input, path("kilns.log"));
      symlinkSync(path("kilns.log"), input);
      renameSync(join(suite, "oracle.jsonl"), own);
      const line = `run --suite ${suite} --task 84401e16,142a807f -a oracle --concurrency 1 --max-failures 1 --quiet`;
      const without = await artE(line);
      expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining("demo has no oracle.jsonl.") });
      const begun = await artE(`${line} --oracle lines.jsonl -o resumed.json`);
      // An input behind a link out of the suite counts as a missing file: the task is omitted, and can be retried.
      expect(begun.code).toBe(0);
      expect(readJson("resumed.json").endings).toEqual({ answered: 1, not_runnable: 1 });
      rmSync(input);
      renameSync(path("kilns.log"), input);
      const other = await artE("run --resume latest --oracle other.jsonl");
      expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("oracle was ") });
      const more = "run --resume latest --retry-failed --max-failures 9 --quiet";
      const changed = `task ${TASK} is different in ${suite} (definition or files)`;
      expect(await artE(more)).toMatchObject({ code: 2, stderr: expect.stringContaining(changed) });
      expect(await artE(`${more} --force`)).toMatchObject({ code: 0 });
      expect(scoresOf("resumed.json")).toEqual([
        ["142a807f", "answered", 1],
        ["84401e16", "answered", 1],
      ]);
      rmSync(suite, { recursive: true });
    });
  });

  describe("the oracle", () => {
    const refused = async (line: string, message: string) =>
      expect(await artE(`run ${line}`)).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining(message),
      });

    it("can be used only for suite tasks, and only as its agent", async () => {
      await refused(
        `-a oracle --dataset ${QUESTIONS}`,
        "The model offline/oracle only does suite tasks and tasks that ask for actions or emails, and question ",
      );
      await refused(
        `--suite ${SUITE} -a noop --oracle o.jsonl`,
        "--oracle is for the agent oracle, and the agent's model",
      );
      await refused(`--suite ${SUITE} -a oracle --oracle o.jsonl`, "o.jsonl: ");
    });
  });
});
