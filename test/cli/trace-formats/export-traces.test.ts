import { beforeAll, describe, expect, it } from "vitest";
import { traceSchema } from "../../../src/traces/trace.js";
import { stepSchema } from "../../trace-formats/step-schema.js";
import { BIN, demoQuestion, jsonLines, MAIL, QUESTIONS, startProgram, workFolder } from "../art-e.js";

const { artE, path, read, write } = workFolder({ mail: MAIL });

/** Task to what is answered; task 4 has no reply and fails. Semantic scores: 1, 0.5, 0. */
const ANSWERS = new Map([
  [1, demoQuestion(1).answer],
  [2, "$9.21 or so"],
  [3, "nobody knows"],
]);

let everything = "";

beforeAll(async () => {
  const scripts = [...ANSWERS].map(([id, content]) => ({
    taskQuestion: demoQuestion(id).question,
    replies: [
      { toolCalls: [{ name: "email_search", arguments: { query: "gas", inbox_id: demoQuestion(id).inbox_address } }] },
      { content },
    ],
  }));
  write("script.json", JSON.stringify(scripts));
  const model = "--model-id replay/script.json";
  const { code, stderr } = await artE(`run -a email-search ${model} --dataset ${QUESTIONS} --ids 1,2,3,4 --quiet`);
  if (code !== 0) throw new Error(`the run failed: ${stderr}`);
  everything = (await artE("export-traces")).stdout;
});

describe("export-traces", () => {
  it("with --json and a file says what it wrote", async () => {
    const { code, stdout, stderr } = await artE("export-traces -o told.jsonl --json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [{ runId }] = jsonLines(everything);
    expect(JSON.parse(stdout)).toEqual({
      ...{ runId, format: "jsonl", output: "told.jsonl", traces: 4 },
      ...{ leftOut: {}, notes: [] },
    });
    expect(read("told.jsonl")).toBe(everything);
  });

  it("writes a trace a line, in the order of the tasks, each whole", () => {
    const traces = jsonLines(everything);
    expect(traces.map((trace) => traceSchema.strict().parse(trace).taskId)).toEqual([1, 2, 3, 4]);
    expect(traces.map((trace) => trace.scores.semanticScore?.value)).toEqual([1, 0.5, 0, undefined]);
    expect(traces.map((trace) => trace.ending)).toEqual(["answered", "answered", "answered", "model_error"]);
    expect(traces[0].task).toMatchObject({ question: demoQuestion(1).question, answer: demoQuestion(1).answer });
  });

  it.concurrent.each([
    ["--band high", [1]],
    ["--band medium", [2]],
    ["--band low", [3]],
    ["--min-score 0.5 --max-score 0.9", [2]],
    ["--max-score 0.5", [2, 3]],
    ["--failed", [4]],
    ["--run run_", [1, 2, 3, 4]],
  ])("%s chooses among them", async (flags, expected) => {
    const { code, stdout, stderr } = await artE(`export-traces ${flags}`);
    expect(code).toBe(0);
    expect(jsonLines(stdout).map((trace) => trace.taskId)).toEqual(expected);
    expect(stderr).toMatch(new RegExp(`^${expected.length} traces? of run_\\S+ written\\.\n$`));
  });

  it.concurrent("--output writes the same lines into a file, and nothing to stdout", async ({ expect }) => {
    const { code, stdout, stderr } = await artE("export-traces -o traces.jsonl");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toMatch(/^4 traces of run_\S+ written to traces\.jsonl\.\n$/);
    expect(read("traces.jsonl")).toBe(everything);
  });

  it.concurrent("--format iofold writes one step a line, of exactly iofold's fields", async ({ expect }) => {
    const { stdout } = await artE("export-traces --format iofold --max-score 0.5");
    const steps = jsonLines(stdout).map((step) => stepSchema.parse(step));
    expect(steps.map((step) => step.metadata.span_name)).toEqual([
      ...["replay/script.json", "email_search", "replay/script.json"],
      ...["replay/script.json", "email_search", "replay/script.json"],
    ]);
    const traces = jsonLines(everything).slice(1, 3);
    expect([...new Set(steps.map((step) => step.trace_id))]).toEqual(traces.map((trace) => trace.traceId));
    expect(steps.at(-1)?.output).toBe("nobody knows");
  });
});

describe("where nobody reads to the end", () => {
  it("export-traces ends quietly", async () => {
    // All of the demo's traces are far more than a pipe holds.
    await artE(`import ${MAIL} --db many.db --quiet`);
    await artE(`run -a baseline --dataset ${QUESTIONS} -l 0 --quiet --db many.db`);
    const line = `"${process.execPath}" "${BIN}" export-traces --db many.db | head -n 1`;
    const { ended } = startProgram(path(""), "bash", ["-c", `set -o pipefail; ${line}`], {});
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(jsonLines(stdout).map((trace) => trace.taskId)).toEqual([1]);
  });
});
