import { readdirSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { exportedTraceSchema } from "../../trace-formats/exported-trace.js";
import { demoQuestion, jsonLines, MAIL, MARCUS, workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";

describe("art-e ask", () => {
  const { artE, path } = workFolder({ mail: MAIL });
  const question = demoQuestion(1);

  function traces(): number {
    const db = new Database(path("art-e.db"), { readonly: true });
    const count = db.prepare("SELECT count(*) FROM traces").pluck().get() as number;
    db.close();
    return count;
  }

  let provider: FakeProvider | null = null;

  afterEach(async () => {
    await provider?.close();
    provider = null;
  });

  describe("without a key", () => {
    it("answers with the offline baseline, says so, and saves a trace", async () => {
      const { code, stdout, stderr } = await artE(["ask", question.inbox_address, question.question]);
      expect([code, stderr]).toEqual([0, expect.stringContaining("No API key is set")]);
      expect(stderr).toContain("offline baseline, which is not a language model");
      expect(stdout).toMatch(/^Source: .+, \d{4}-\d\d-\d\d, from \S+@\S+\n {8}<\S+>$/m);
      const [, id = ""] = /art-e show (trace_\S+)/.exec(stdout) ?? [];
      const shown = await artE(`show ${id}`);
      expect(shown.stdout).toContain(`Question: ${question.question}`);
      // A question is not a run: latest is the same run as before.
      expect((await artE("stats --runs --json")).stdout.trim()).toBe("[]");
    });

    it("prints one document with --json", async () => {
      const line = [
        "ask",
        question.inbox_address.toUpperCase(),
        question.question,
        "--before",
        "2003-01-01",
        "--json",
        "--quiet",
      ];
      const { stdout, stderr } = await artE(line);
      const answer = JSON.parse(stdout);
      expect(stderr).toBe("");
      expect(answer).toMatchObject({
        ending: "answered",
        inbox: question.inbox_address,
        queryDate: "2002-12-31",
        agentId: "baseline",
        model: "offline/baseline",
        costUsd: 0,
        traceId: expect.stringMatching(/^trace_/),
      });
      expect(answer.sources[0]).toMatchObject({
        messageId: expect.stringMatching(/^<.+>$/),
        subject: expect.any(String),
      });
    });

    it("accepts an unquoted question, and rejects an empty one", async () => {
      const { stdout } = await artE(["ask", MARCUS, ...question.question.split(" "), "--json", "--quiet"]);
      const [id = ""] = [JSON.parse(stdout).traceId];
      expect((await artE(`show ${id}`)).stdout).toContain(`Question: ${question.question}`);
      expect(await artE(["ask", MARCUS, " "])).toMatchObject({ code: 2, stderr: expect.stringContaining("is empty") });
    });

    it("lists the changes of an agent that acts, also in the stored trace", async () => {
      const order = "Flag every email from ruth.whitlock@kestrelplains.example of May 2001.";
      const { stdout } = await artE(["ask", MARCUS, order, "-a", "mail-rules"]);
      const changes = stdout.split("\n").filter((line) => line.startsWith("Change:"));
      expect(changes[0]).toMatch(/^Change: {3}flagged {2}<\S+>$/);
      const [, id = ""] = /art-e show (trace_\S+)/.exec(stdout) ?? [];
      const shown = (await artE(`show ${id}`)).stdout.split("\n").filter((line) => line.startsWith("Change:"));
      expect(shown).toEqual(changes);
      const json = JSON.parse((await artE(["ask", MARCUS, order, "-a", "mail-rules", "--json", "--quiet"])).stdout);
      expect(json.actions.emails).toHaveLength(changes.length);
    });

    it("hides later emails with --before", async () => {
      const { stdout } = await artE(["ask", MARCUS, question.question, "--before", "1999-01-01", "--quiet"]);
      expect(stdout).toMatch(/^I don't know/);
    });
  });

  describe("with a key", () => {
    it("uses the requested agent and model, and the prompt contains the mailbox and the date", async () => {
      provider = await startFakeProvider((request) =>
        request.turn === 0
          ? { toolCalls: [{ name: "email_get", arguments: { message_id: question.message_ids[0] ?? "" } }] }
          : {
              toolCalls: [
                {
                  name: "return_final_answer",
                  arguments: { answer: "42", sources: [question.message_ids[0] ?? "", "<made@up>"] },
                },
              ],
            },
      );
      const variables = { OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") };
      const { code, stdout, stderr } = await artE(["ask", question.inbox_address, question.question], variables);
      expect([code, stderr]).toEqual([0, "Asking email-search with openai/gpt-6.1-sol.\n"]);
      expect(stdout).toMatch(/^42\n\nSource: /);
      expect(stdout).toContain("Source: <made@up> (not in the mailbox)");
      expect(stdout).toMatch(
        /email-search \(openai\/gpt-6\.1-sol\): 2 turns, .*\$0\.\d+\. Full trace: art-e show trace_/,
      );
      expect(JSON.stringify(provider.requests[0]?.body)).toContain(question.inbox_address);
    });

    it("reports a rejected key, and stores nothing", async () => {
      provider = await startFakeProvider(() => ({ fail: "status", status: 401, message: "bad key" }));
      const before = traces();
      const variables = { ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: provider.baseUrl("anthropic") };
      const { code, stderr } = await artE(["ask", MARCUS, "What?", "--quiet"], variables);
      expect([code, stderr]).toEqual([1, expect.stringContaining("401")]);
      expect(traces()).toBe(before);
    });

    it("exits with code 1 and without an answer if an agent uses up its turns", async () => {
      provider = await startFakeProvider(() => ({
        toolCalls: [{ name: "email_search", arguments: { query: "x", inbox_id: MARCUS } }],
      }));
      const variables = { OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") };
      const { code, stdout } = await artE(["ask", MARCUS, "What?", "--max-turns", "2", "--quiet"], variables);
      expect([code, stdout]).toEqual([1, expect.stringMatching(/^No answer: it ran out of turns\./)]);
    });
  });

  it("lists the available addresses if the mailbox is unknown", async () => {
    const { code, stderr } = await artE(["ask", "me@my.example", "What?"]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/No mail .* me@my\.example\.[\s\S]*most mail: \S+@\S+ \(\d+\), /),
    ]);
  });
});

describe("art-e demo", () => {
  const { artE, path, read, readJson, write } = workFolder();

  it("shows the whole process without a key, from the mail to a run, its results and its traces", async () => {
    // The demo does not use the server that the environment names for other runs.
    const { code, stdout, stderr } = await artE("demo", { API_URL: "http://127.0.0.1:9" });
    expect(code).toBe(0);
    const names = ["demo.db", "report.html", "results.json", "traces.jsonl"];
    expect(readdirSync(path("demo-output")).sort()).toEqual(names);
    const results = resultsSchema.parse(readJson("demo-output/results.json"));
    expect(results).toMatchObject({ completedTasks: 73 });
    const traces = jsonLines(read("demo-output/traces.jsonl"));
    expect(traces.map((trace) => exportedTraceSchema.parse(trace).taskId)).toHaveLength(73);
    expect(read("demo-output/report.html")).toContain("<!doctype html>");
    expect(stdout).toMatch(/ART-E Import[\s\S]+ART-E Benchmark Results: baseline/);

    const { value, low, high } = results.scores.sourcesCorrect ?? { value: null, low: null, high: null };
    const last = stderr.slice(stderr.indexOf("Three figures"));
    expect(last).toMatch(new RegExp(`^ {2}Sources correct +${value?.toFixed(3)} .*decides`, "m"));
    expect(last).toMatch(new RegExp(`^ {2}Its interval +${low?.toFixed(3)} to ${high?.toFixed(3)} .*decides`, "m"));
    expect(last).toContain(`The report: ${path("demo-output/report.html")}`);

    // The commands that the demo suggests last work unchanged.
    const typed = [...last.matchAll(/^ {2}art-e (.+)$/gm)].map(([, line = ""]) => line);
    expect(typed.map((line) => line.split(" ")[0])).toEqual(["show", "evals", "run"]);
    expect(last.trimEnd().endsWith(typed[2] ?? "")).toBe(true);
    const [show = "", coding = "", run = ""] = typed;
    expect(await artE(`${show} --quiet`)).toMatchObject({ code: 0, stderr: "" });
    expect(await artE(coding)).toMatchObject({ code: 0, stdout: expect.stringContaining("No coded traces") });
    expect(await artE(`${run} --quiet`)).toMatchObject({ code: 2, stderr: expect.stringContaining("No API key") });
    expect(await artE(`${run} --quiet --model-id offline/baseline`)).toMatchObject({ code: 0, stderr: "" });
    const limited = await artE(`${run} --model-id offline/baseline --overwrite --no-progress`);
    expect(limited.stderr).toContain("10 of 73 questions: the default limit. All: -l 0\n");
    const chosen = await artE(`${run} --model-id offline/baseline --overwrite --no-progress -l 9`);
    expect(chosen.stderr).not.toContain("default limit");
  });

  it("adds a run if repeated, keeps other files in its folder, and writes one document with --json", async () => {
    write("demo-output/mine.txt", "kept");
    const questions = "--dataset demo-output/../question.jsonl --db demo-output/demo.db";
    write("question.jsonl", `${JSON.stringify(demoQuestion(1))}\n`);
    expect(await artE(`run -a baseline ${questions} --quiet`)).toMatchObject({ code: 0 });
    const runs = async () => JSON.parse((await artE("runs list --json --db demo-output/demo.db")).stdout).length;
    const before = await runs();
    const { code, stdout, stderr } = await artE("demo --json --quiet");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      import: { read: 517 },
      run: { completedTasks: 73 },
      files: {
        results: "demo-output/results.json",
        report: "demo-output/report.html",
        traces: "demo-output/traces.jsonl",
      },
    });
    expect(read("demo-output/mine.txt")).toBe("kept");
    expect(await runs()).toBe(before + 1);
  });

  it("rejects a file as its folder", async () => {
    write("taken", "");
    const { code, stderr } = await artE("demo -o taken");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^art-e: --output: Cannot create taken: \S+ is not a folder\.\n {7}Pass another path\.\n$/);
  });
});
