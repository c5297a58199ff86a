import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ALL_KINDS } from "../exports/kinds-of-traces.js";
import { ANSWERED } from "../exports/traces.js";
import { EXPORTS, needs } from "../machine-requirements.js";
import { jsonLines, MAIL, QUESTIONS, workFolder } from "./art-e.js";

const { artE, read, readJson, write } = workFolder({ mail: MAIL });

beforeAll(async () => {
  const run = `run -a baseline --dataset ${QUESTIONS} --ids 1,2,3,4,5 --epochs 2 -o first.json --quiet`;
  const { code, stderr } = await artE(run);
  if (code !== 0) throw new Error(`the run failed: ${stderr}`);
  for (const format of ["jsonl", "otlp"]) await artE(`export-traces --format ${format} -o first.${format}`);
});

describe("import-traces", () => {
  it.each([
    ["jsonl", "jsonl"],
    ["jsonl", "otlp"],
    ["otlp", "otlp"],
  ])("of %s: %s is written again byte for byte", async (from, to) => {
    const db = `--db ${from}-${to}.db`;
    const { code, stdout, stderr } = await artE(`import-traces first.${from} ${db}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { runId } = readJson("first.json");
    expect(stdout).toBe(`10 traces of ${runId} imported from first.${from}.\n`);
    expect((await artE(`export-traces --format ${to} -o again ${db} --overwrite`)).code).toBe(0);
    const bytes = read("again");
    // The tools of the agent are known where it ran, and of a file only where it names them.
    if (from === "jsonl" && to === "otlp") expect(bytes.length).toBeLessThan(read("first.otlp").length);
    else expect(bytes).toBe(read(`first.${to}`));
  });

  it("makes a run that is scored, reported and shown like any other", async () => {
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

  it("keeps traces of every kind", async () => {
    const kinds = ALL_KINDS.map((trace, i) =>
      "runId" in trace ? { ...trace, traceId: `trace_${i}`, runId: `run_${i}` } : { ...trace, traceId: `trace_${i}` },
    );
    write("kinds.jsonl", kinds.map((trace) => JSON.stringify(trace)).join("\n"));
    const { code, stdout } = await artE("import-traces kinds.jsonl --db kinds.db --json");
    expect(code).toBe(0);
    const { runs, traces, chats } = JSON.parse(stdout);
    expect(traces + chats).toBe(kinds.length);
    for (const [i, trace] of kinds.entries()) {
      if (!("runId" in trace)) continue;
      expect(runs).toContain(`run_${i}`);
      const written = await artE(`export-traces --run run_${i} --db kinds.db`);
      expect(jsonLines(written.stdout)).toContainEqual(JSON.parse(JSON.stringify(trace)));
    }
  });

  it.each([
    ["nothing.jsonl", null, "nothing.jsonl cannot be read"],
    ["empty.jsonl", "\n\n", "empty.jsonl: there is nothing in it."],
    ["text.jsonl", "not JSON", "text.jsonl, line 1: is not JSON."],
    ["other.jsonl", "{}", "other.jsonl, line 1: is neither a trace nor OTLP's TracesData."],
    ["deep.jsonl", `{"traceId":${"[".repeat(500)}`, "deep.jsonl, line 1: is nested more than"],
    ["half.jsonl", `${JSON.stringify(ANSWERED)}\n{"traceId":"x"}`, "half.jsonl, line 2: sessionId: "],
    ["twice.jsonl", `${JSON.stringify(ANSWERED)}\n${JSON.stringify(ANSWERED)}`, "is in this database already."],
    ["ids.otlp", '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz"}]}]}]}', "expected hex digits"],
  ])("refuses %s, and imports nothing of it", async (name, content, message) => {
    if (content !== null) write(name, content);
    const { code, stderr } = await artE(`import-traces ${name} --db none.db`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect((await artE("export-traces --db none.db")).stdout).toBe("");
  });

  it("refuses a run that is there", async () => {
    const { code, stderr } = await artE("import-traces first.jsonl");
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("is in this database already.") });
  });

  it("keeps traces of other programs as chats, and says what they lack", needs("exports"), async () => {
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
});
