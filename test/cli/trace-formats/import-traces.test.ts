import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { EXPORTS, needs } from "../../machine-requirements.js";
import { ALL_KINDS } from "../../trace-formats/kinds-of-traces.js";
import { ANSWERED } from "../../trace-formats/traces.js";
import { jsonLines, MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

const { artE, read, readJson, write } = workFolder({ mail: MAIL });

beforeAll(async () => {
  const run = `run -a baseline --dataset ${QUESTIONS} --ids 1,2,3,4,5 --epochs 2 -o first.json --quiet`;
  const { code, stderr } = await artE(run);
  if (code !== 0) throw new Error(`the run failed: ${stderr}`);
  for (const format of ["jsonl", "otlp", "inspect", "atif"])
    await artE(`export-traces --format ${format} -o first.${format}`);
});

/** The dataset of an imported run is the file of traces, and its digest is in every span. */
function withoutDataset(text: string): string {
  return text.replace(/("langfuse\.experiment\.dataset\.id","value":\{"stringValue":")[0-9a-f]{64}/g, "$1");
}

describe("art-e import-traces", () => {
  it.each([
    ["jsonl", "jsonl"],
    ["jsonl", "otlp"],
    ["otlp", "otlp"],
    ["inspect", "inspect"],
    ["inspect", "jsonl"],
    ["atif", "atif"],
    ["atif", "jsonl"],
  ])("restores the export of %s, and %s can be written again byte for byte", async (from, to) => {
    const db = `--db ${from}-${to}.db`;
    const { code, stdout, stderr } = await artE(`import-traces first.${from} ${db}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { runId } = readJson("first.json");
    expect(stdout).toBe(`10 traces of ${runId} imported from first.${from}.\n`);
    expect((await artE(`export-traces --format ${to} -o again ${db} --overwrite`)).code).toBe(0);
    const [again, first] = ["again", `first.${to}`].map((name) => withoutDataset(read(name))) as [string, string];
    // The agent's tools are known from its run, but from a file only if it lists them.
    if (from === "jsonl" && to === "otlp") expect(again.length).toBeLessThan(first.length);
    else expect(again === first).toBe(true);
  });

  it("creates a run that can be scored, reported and shown like any other", async () => {
    const db = "--db used.db";
    await artE(`import-traces first.otlp ${db}`);
    const { code, stderr } = await artE(`score ${db} -o again.json`);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const [first, again] = ["first.json", "again.json"].map(readJson);
    expect(again.taskResults.map((result: { scores: Record<string, number> }) => result.scores.exactMatch)).toEqual(
      first.taskResults.map((result: { scores: Record<string, number> }) => result.scores.exactMatch),
    );
    expect(again.settings.imported).toMatchObject({ format: "otlp", file: "first.otlp" });
    expect((await artE(`report -o page.html ${db}`)).code).toBe(0);
    expect((await artE(`show latest/1 ${db}`)).stdout).toContain("Question:");
    expect(jsonLines((await artE(`export-traces --format atif ${db}`)).stdout)).toHaveLength(10);
  });

  it.each(["repeat", "resume"])("creates a run that --%s rejects, with and without --force", async (how) => {
    const db = `--db ${how}.db`;
    await artE(`import-traces first.jsonl ${db}`);
    const before = await artE(`runs show latest --json ${db}`);
    for (const line of [`run --${how} latest ${db}`, `run --${how} latest --force --max-turns 3 ${db}`]) {
      const { code, stderr } = await artE(line);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining("it was imported from first.jsonl, and its agent is not"),
      ]);
    }
    expect((await artE(`runs show latest --json ${db}`)).stdout).toBe(before.stdout);
  });

  it("keeps traces of every kind", async () => {
    const kinds = ALL_KINDS.map((trace, i) =>
      trace.kind !== "chat"
        ? { ...trace, traceId: `trace_${i}`, runId: `run_${i}` }
        : { ...trace, traceId: `trace_${i}` },
    );
    write("kinds.jsonl", kinds.map((trace) => JSON.stringify(trace)).join("\n"));
    const { code, stdout } = await artE("import-traces kinds.jsonl --db kinds.db --json");
    expect(code).toBe(0);
    const { runs, traces, chats } = JSON.parse(stdout);
    expect(traces + chats).toBe(kinds.length);
    for (const [i, trace] of kinds.entries()) {
      if (trace.kind === "chat") continue;
      expect(runs).toContain(`run_${i}`);
      const written = await artE(`export-traces --run run_${i} --db kinds.db`);
      expect(jsonLines(written.stdout)).toContainEqual({
        ...JSON.parse(JSON.stringify(trace)),
        features: expect.any(Object),
      });
    }
  });

  it.each([
    ["nothing.jsonl", null, "Cannot read nothing.jsonl"],
    ["empty.jsonl", "\n\n", "empty.jsonl: the file is empty."],
    ["text.jsonl", "not JSON", "text.jsonl, line 1: is not JSON."],
    ["other.jsonl", "{}", "other.jsonl: is not a file of traces: art-e JSON Lines, "],
    ["deep.jsonl", `{"traceId":${"[".repeat(500)}`, "deep.jsonl, line 1: is nested more than"],
    ["half.jsonl", `${JSON.stringify(ANSWERED)}\n{"kind":"question","traceId":"x"}`, "half.jsonl, line 2: sessionId: "],
    ["twice.jsonl", `${JSON.stringify(ANSWERED)}\n${JSON.stringify(ANSWERED)}`, "is already in this database."],
    ["ids.otlp", '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz"}]}]}]}', "expected 32 hex digits"],
  ])("rejects %s, and imports nothing from it", async (name, content, message) => {
    if (content !== null) write(name, content);
    const { code, stderr } = await artE(`import-traces ${name} --db none.db`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect((await artE("export-traces --db none.db")).stdout).toBe("");
  });

  it("rejects a run that already exists", async () => {
    const { code, stderr } = await artE("import-traces first.jsonl");
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("is already in this database.") });
  });

  it.each([
    ["cut.eval", "PK\u0003\u0004 cut off", "cut.eval: cannot be read as a zip: "],
    ["old.json", '{"version":1,"eval":{},"samples":[{}]}', "old.json: version: only log version 2 is supported."],
    ["late.json", '{"samples":[],"eval":{}}', "late.json: version: "],
    ["ends.json", '{"version":2,"eval":{"created":"x"', "ends.json, line 1: is not JSON."],
    ["new.atif", '{"schema_version":"ATIF-v2.0"}', "new.atif, line 1: schema_version: only ATIF-v1.x is supported."],
  ])("rejects %s, a file in another format, in one line", async (name, content, message) => {
    write(name, content);
    const { code, stderr } = await artE(`import-traces ${name} --db none.db`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(stderr.trim().split("\n")).toHaveLength(2);
  });

  it("imports traces from other programs as chats, and lists the missing parts", needs("exports"), async () => {
    const { code, stdout } = await artE([
      "import-traces",
      join(EXPORTS, "examples/otel/good.otlp.jsonl"),
      "--db",
      "o.db",
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^2 chats imported from .*good\.otlp\.jsonl\.\n2 have no gold answer, so they are kept as chats/,
    );
    const chats = jsonLines((await artE("export-traces --chats --db o.db")).stdout);
    const answered = chats.find(({ ending }) => ending === "answered");
    expect(answered).toMatchObject({
      question: "What did the annex cost?",
      answer: "$1.2 million.",
      model: "openai/gpt-4.1-mini",
      messages: [{ role: "system" }, { role: "user" }, { role: "assistant" }, { role: "tool" }, { role: "assistant" }],
      turns: [{ finishReason: "tool_calls", usage: { inputTokens: 420 } }, { usage: { cachedInputTokens: 384 } }],
      toolCalls: [{ name: "email_search", turn: 0, durationMs: 10 }],
    });
    expect(chats.find(({ ending }) => ending === "model_error")?.error).toBe("HTTP 500 from the provider");
  });

  it.each([["2026-11-20T09-00-00_art-e_tAsK1.json"], ["2026-11-20T09-00-00_art-e_tAsK1.eval"]])(
    "turns another program's Inspect log %s into a run, which can be scored like any other",
    needs("exports"),
    async (name) => {
      const db = name.endsWith("eval") ? "eval.db" : "log.db";
      const { code, stdout } = await artE(["import-traces", join(EXPORTS, "examples/inspect", name), "--db", db]);
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^4 traces of EvaL1x imported from .*\n.*4 have no cutoff date/),
      });
      const traces = jsonLines((await artE(`export-traces --db ${db}`)).stdout);
      expect(traces.map(({ taskId, epoch, ending }) => [taskId, epoch, ending])).toEqual([
        [17, 1, "answered"],
        [17, 2, "answered"],
        [42, 1, "answered"],
        [42, 2, "model_error"],
      ]);
      expect(traces[0]).toMatchObject({
        agentId: "agent",
        model: "openai/gpt-4.1-mini",
        answer: "$1.2 million.",
        task: { question: "What did the annex cost?", answer: "$1.2 million", inbox_address: MARCUS, how_realistic: 1 },
        messages: [
          { role: "system" },
          { role: "user" },
          { role: "assistant" },
          { role: "tool" },
          { role: "assistant" },
        ],
        turns: [
          { finishReason: "tool_calls", usage: { inputTokens: 420, outputTokens: 31 } },
          { usage: { cachedInputTokens: 384, inputTokens: 910 } },
        ],
        toolCalls: [{ name: "email_search", turn: 0 }],
        scores: { correct: { value: 1, explanation: "Same sum as the gold answer." }, source_recall: { value: 1 } },
      });
      expect((await artE(`score --db ${db}`)).code).toBe(0);
      expect((await artE(`report -o page.html --overwrite --db ${db}`)).code).toBe(0);
    },
  );

  it("reports that times are missing in an ATIF trajectory", async () => {
    const steps = [
      { step_id: 1, source: "user", message: "When?" },
      { step_id: 2, source: "agent", message: "Friday." },
    ];
    const timed = steps.map((step) => ({ ...step, timestamp: "2026-01-02T03:04:05Z" }));
    for (const [name, list] of Object.entries({ untimed: steps, timed })) {
      const agent = { name: "other", version: "1" };
      write(`${name}.atif`, JSON.stringify({ schema_version: "ATIF-v1.4", session_id: name, agent, steps: list }));
    }
    expect((await artE("import-traces untimed.atif --db t.db")).stdout).toContain("no timestamps");
    expect((await artE("import-traces timed.atif --db t.db")).stdout).not.toContain("no timestamps");
  });

  it("imports another program's ATIF trajectory as a chat", needs("exports"), async () => {
    const { code, stdout } = await artE(["import-traces", join(EXPORTS, "examples/atif/good.json"), "--db", "a.db"]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^1 chat imported from .*\n1 have no gold answer.*no call durations/),
    });
    expect(jsonLines((await artE("export-traces --chats --db a.db")).stdout)).toMatchObject([
      {
        question: "What did the annex cost?",
        answer: "$1.2 million.",
        ending: "answered",
        turns: [{ usage: { inputTokens: 420 } }, { usage: { cachedInputTokens: 384 }, costUsd: 0.0003 }],
        toolCalls: [{ name: "email_search", result: "<a1@x> The annex came to $1.2 million." }],
      },
    ]);
  });
});
