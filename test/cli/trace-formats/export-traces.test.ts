import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { stepShape } from "../../../src/server/response-shapes.js";
import { traceSchema } from "../../../src/traces/trace.js";
import { ENRON, EXPORTS, needs, slow } from "../../machine-requirements.js";
import { machinesStart } from "../../suites/machines-start.js";
import { readArtGroups } from "../../trace-formats/art-reader.js";
import { readAtif } from "../../trace-formats/atif-reader.js";
import { readChats } from "../../trace-formats/chat-reader.js";
import { exportedTraceSchema } from "../../trace-formats/exported-trace.js";
import { readEvalFile } from "../../trace-formats/inspect-reader.js";
import { readOtlp } from "../../trace-formats/otlp-reader.js";
import {
  BIN,
  demoQuestion,
  jsonLines,
  MAIL,
  QUESTIONS,
  ROOT,
  startProgram,
  type WorkFolder,
  workFolder,
} from "../art-e.js";

describe("exporting traces", () => {
  const { artE, read, write } = workFolder({ mail: MAIL });

  /** Answers per task. Task 4 does not get a reply and fails. Word overlaps: 1, 0.5, 0. */
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
        {
          toolCalls: [{ name: "email_search", arguments: { query: "gas", inbox_id: demoQuestion(id).inbox_address } }],
        },
        { content },
      ],
    }));
    write("script.json", JSON.stringify(scripts));
    const model = "--model-id replay/script.json";
    const { code, stderr } = await artE(`run -a email-search ${model} --dataset ${QUESTIONS} --ids 1,2,3,4 --quiet`);
    if (code !== 0) throw new Error(`the run failed: ${stderr}`);
    everything = (await artE("export-traces")).stdout;
  });

  describe("art-e export-traces", () => {
    it("reports the path of the written file if --json is given", async () => {
      const { code, stdout, stderr } = await artE("export-traces -o told.jsonl --json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const [{ runId }] = jsonLines(everything);
      expect(JSON.parse(stdout)).toEqual({
        runId,
        format: "jsonl",
        output: "told.jsonl",
        traces: 4,
        leftOut: {},
        notes: [],
      });
      expect(read("told.jsonl")).toBe(everything);
    });

    it("writes one complete trace per line, in task order", () => {
      const traces = jsonLines(everything);
      expect(traces.map((trace) => exportedTraceSchema.parse(trace).taskId)).toEqual([1, 2, 3, 4]);
      expect(traces.map((trace) => trace.scores.semanticScore?.value)).toEqual([1, 0.5, 0, undefined]);
      expect(traces.map((trace) => trace.ending)).toEqual(["answered", "answered", "answered", "model_error"]);
      expect(traces[0].task).toMatchObject({ question: demoQuestion(1).question, answer: demoQuestion(1).answer });
    });

    it.each([
      ["--by semantic --band high", [1]],
      ["--by semantic --band medium", [2]],
      ["--by semantic --band low", [3]],
      ["--band low", [1, 2, 3]],
      ["--min-score semantic=0.5 --max-score semantic=0.9", [2]],
      ["--by semantic --max-score 0.5", [2, 3]],
      ["--failed", [4]],
      ["--run run_", [1, 2, 3, 4]],
    ])("selects traces with %s", async (flags, expected) => {
      const { code, stdout, stderr } = await artE(`export-traces ${flags}`);
      expect(code).toBe(0);
      expect(jsonLines(stdout).map((trace) => trace.taskId)).toEqual(expected);
      expect(stderr).toMatch(new RegExp(`^${expected.length} traces? of run_\\S+ written\\.\n$`));
    });

    it("writes the same lines to a file if --output is given, and nothing to stdout", async () => {
      const { code, stdout, stderr } = await artE("export-traces -o traces.jsonl");
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
      expect(stderr).toMatch(/^4 traces of run_\S+ written to traces\.jsonl\.\n$/);
      expect(read("traces.jsonl")).toBe(everything);
    });

    it("writes one step per line, with exactly iofold's fields, with --format iofold", async () => {
      const { stdout } = await artE("export-traces --format iofold --by semantic --max-score 0.5");
      const steps = jsonLines(stdout).map((step) => stepShape.parse(step));
      expect(steps.map((step) => step.metadata.span_name)).toEqual([
        "replay/script.json",
        "email_search",
        "replay/script.json",
        "replay/script.json",
        "email_search",
        "replay/script.json",
      ]);
      const traces = jsonLines(everything).slice(1, 3);
      expect([...new Set(steps.map((step) => step.trace_id))]).toEqual(traces.map((trace) => trace.traceId));
      expect(steps.at(-1)?.output).toBe("nobody knows");
    });
  });
});

describe("art-e export-traces with a closed pipe", () => {
  const { path } = workFolder({ demo: "answered" });

  it("exits without an error message", async () => {
    // All of the demo's traces are far larger than a pipe's buffer.
    const line = `"${process.execPath}" "${BIN}" export-traces | head -n 1`;
    const { ended } = startProgram(path(""), "bash", ["-c", `set -o pipefail; ${line}`], {});
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(jsonLines(stdout).map((trace) => trace.taskId)).toEqual([1]);
  });
});

describe("export formats", () => {
  const { artE, path, read, write } = workFolder({ mail: MAIL });
  let runId = "";

  beforeAll(async () => {
    const { code, stderr } = await artE(`run -a baseline --dataset ${QUESTIONS} -l 12 --epochs 2 --quiet -o run.json`);
    if (code !== 0) throw new Error(`the run failed: ${stderr}`);
    ({ runId } = JSON.parse(read("run.json")));
  });

  const bytes = (name: string) => readFileSync(path(name));
  const ids = (stdout: string) => jsonLines(stdout).map(({ taskId, epoch }) => `${taskId}/${epoch}`);

  describe("art-e export-traces", () => {
    it("writes lines for trainers, and reports their number, with --format chat", async () => {
      const { code, stderr } = await artE("export-traces --format chat --min-score foundGold=1 -o chat.jsonl");
      const lines = readChats(read("chat.jsonl"), "openai");
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(
          `^${lines.length} traces of ${runId} written to chat.jsonl.\n${lines.length} lines of about [\\d,]+ tokens.\n$`,
        ),
      });
      expect(lines[0]?.tools?.map((tool) => tool.function.name)).toContain("email_search");
      const { stdout } = await artE("export-traces --format chat --dialect hf");
      expect(readChats(stdout, "hf").length).toBeGreaterThanOrEqual(lines.length);
    });

    it("writes trajectories that contain the agent's tools with --format atif", async () => {
      const { stdout } = await artE("export-traces --format atif");
      const trajectories = stdout.trim().split("\n").map(readAtif);
      expect(trajectories).toHaveLength(24);
      expect(trajectories[0]?.agent).toMatchObject({
        name: "baseline",
        version: "1",
        tool_definitions: expect.any(Array),
      });
    });

    it("writes one group per question, and warns about equal rewards, with --format art", async () => {
      const { stdout, stderr } = await artE("export-traces --format art --reward sourcesF1");
      expect(readArtGroups(stdout).map(({ trajectories }) => trajectories.length)).toEqual(Array(12).fill(2));
      expect(stderr).toContain("allow_training_without_logprobs=True");
      expect(stderr).toContain(
        "12 of 12 groups have equal rewards, so GRPO learns nothing from them: 1, 2, 3, 4, 5 and others.",
      );
      const unknown = await artE("export-traces --format art --reward art");
      expect(unknown.code).toBe(2);
      expect(unknown.stderr).toContain(`Unknown score "artReward" in ${runId}.`);
    });

    it("requires a file for --format inspect", async () => {
      const { code, stderr } = await artE("export-traces --format inspect");
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: "art-e: --output is required, because this format is binary.\n       Pass --output FILE.\n",
      });
    });

    it.each([
      ["--ids 3,1", ["1/1", "1/2", "3/1", "3/2"]],
      ["--limit 3", ["1/1", "1/2", "2/1"]],
      ["--ids 1,2 --best-of-epochs", ["1/1", "2/1"]],
      ["--ids 1,2 --min-score exactMatch=1", []],
      ["--ids 1,2 --max-score exactMatch=0,foundGold=1 -l 1", ["1/1"]],
      ["--ids 1 --by foundGold --band high", ["1/1", "1/2"]],
      ["--ids 1 --min-score found=1", ["1/1", "1/2"]],
    ])("selects traces with %s", async (flags, expected) => {
      const { stdout } = await artE(`export-traces ${flags}`);
      expect(stdout === "" ? [] : ids(stdout)).toEqual(expected);
    });

    it.each([
      ["--ids 99", 'Unknown task "99"'],
      ["--min-score nothing=1", 'Unknown score "nothing"'],
      ["--min-score 1.5", "No trace can meet --min-score 1.5: sourcesCorrect is from 0 to 1."],
      ["--max-score found=-0.1", "No trace can meet --max-score -0.1: foundGold is from 0 to 1."],
      [
        "--min-score found=0.9 --max-score foundGold=0.5",
        "No trace can meet --min-score 0.9: --max-score limits foundGold to 0.5.",
      ],
      ["--min-score high", "--min-score: expected a score such as 0.5, or METRIC=VALUE,METRIC=VALUE."],
      ["--dialect hf", "--dialect only applies to --format chat."],
      ["--reward art", "--reward only applies to --format art."],
      ["--chats --band low", "--chats and --session cannot be combined with a run,"],
      ["--for evals", "--for evals needs --output."],
      ["--for evals --band low -o x", "--for evals cannot be combined with --band."],
      ["--format inspect-json -o x", "--format: inspect-json no longer exists, use inspect."],
      ["--for evals --by goldRank -o x", "for goldRank lower is better."],
      ["--for evals -o run.json", "--output: run.json already exists and is not a folder of traces for evals."],
      ["--for evals -o no/where", "--output: Cannot write no/where: the folder no does not exist."],
    ])("rejects %s", async (flags, message) => {
      const { code, stderr } = await artE(`export-traces ${flags}`);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    });

    it("overwrites only traces, in any format", async () => {
      write("other.jsonl", "PK\x03\x04 something else");
      expect((await artE("export-traces -o other.jsonl")).stderr).toContain(
        "other.jsonl exists and is not a traces file.",
      );
      for (const format of ["inspect", "art", "atif", "chat", "jsonl"]) {
        expect((await artE(`export-traces --format ${format} -o any --quiet`)).code).toBe(0);
      }
    });
  });

  describe("art-e export-traces --for evals", () => {
    it("writes the bands with the reason for each trace, and replaces only its own folder", async () => {
      const { code, stderr } = await artE("export-traces --for evals --by semantic -o evals");
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(/ written to evals: \d+ high, \d+ medium/),
      });
      expect(readdirSync(path("evals")).sort()).toEqual(["high.jsonl", "low.jsonl", "manifest.json", "medium.jsonl"]);
      const { bands, scorer, unscored } = JSON.parse(read("evals/manifest.json"));
      expect({ scorer, unscored }).toEqual({ scorer: "semanticScore", unscored: {} });
      let traces = 0;
      for (const name of ["high", "medium", "low"]) {
        const { file, count, meanScore, traces: entries } = bands[name];
        const written = read(`evals/${file}`) === "" ? [] : jsonLines(read(`evals/${file}`));
        expect(written.map((trace) => traceSchema.parse(trace).traceId)).toEqual(
          entries.map((entry: Entry) => entry.traceId),
        );
        expect(written).toHaveLength(count);
        const sum = written.reduce((total, trace) => total + trace.scores.semanticScore.value, 0);
        expect(meanScore).toEqual(count === 0 ? null : expect.closeTo(sum / count, 9));
        traces += count;
      }
      expect(traces).toBe(24);
      expect(bands.low).toMatchObject({
        range: "below 0.5",
        use: ["failure modes", "bug reproductions", "targeted evals"],
      });
      expect(bands.low.traces[0].why).toMatch(/^semanticScore 0\.\d+ is below 0\.5/);

      expect((await artE("export-traces --for evals -o evals --ids 1 --json")).code).toBe(0);
      expect(JSON.parse(read("evals/manifest.json")).bands.low.count).toBeLessThan(3);
      mkdirSync(path("mine"));
      write("mine/notes.txt", "precious");
      expect((await artE("export-traces --for evals -o mine")).stderr).toContain(
        "mine already exists and is not a folder",
      );
      expect(readdirSync(path("mine"))).toEqual(["notes.txt"]);
    });
  });

  interface Entry {
    readonly traceId: string;
  }

  describe("Inspect logs from art-e export-traces", needs("exports"), () => {
    it("can be read by Python and by the viewer", async () => {
      await artE("export-traces --format inspect -o log.eval --quiet");
      for (const reader of ["python", "viewer"] as const) {
        const { samples, header } = readEvalFile(bytes("log.eval"), reader);
        expect(samples).toHaveLength(24);
        expect(header).toMatchObject({ status: "success", eval: { run_id: runId } });
      }
    });
  });
});

/** Formats of runs pass the readers' rules. test/trace-formats has each format of each kind of trace. */

const lines = (bytes: Buffer) => bytes.toString().split("\n").slice(0, -1);

/** Checks per format. They throw for a file that its readers refuse, and return the traces found. */
const READERS: Readonly<Record<string, (bytes: Buffer) => number>> = {
  jsonl: (bytes) => lines(bytes).length,
  iofold: (bytes) => new Set(lines(bytes).map((line) => stepShape.parse(JSON.parse(line)).trace_id)).size,
  inspect: (bytes) => readEvalFile(bytes, "python").samples.length && readEvalFile(bytes, "viewer").samples.length,
  otlp: (bytes) => {
    readOtlp(bytes.toString());
    return lines(bytes).length;
  },
  "chat --dialect openai": (bytes) => readChats(bytes.toString(), "openai", { minLines: 0 }).length,
  "chat --dialect hf": (bytes) => readChats(bytes.toString(), "hf", { minLines: 0 }).length,
  atif: (bytes) => lines(bytes).map(readAtif).length,
  art: (bytes) => readArtGroups(bytes.toString()).reduce((sum, { trajectories }) => sum + trajectories.length, 0),
};

/** Formats that omit traces of no use to a trainer. */
const LEAVE_OUT = new Set(["chat --dialect openai", "chat --dialect hf", "art"]);

async function expectReadable(
  { artE, path }: WorkFolder,
  flags: string,
  traces: number,
  formats = Object.keys(READERS),
): Promise<void> {
  for (const format of formats) {
    const { code, stderr } = await artE(`export-traces --format ${format} ${flags} -o exported --overwrite --quiet`);
    expect({ format, code, stderr }).toEqual({ format, code: 0, stderr: "" });
    const found = READERS[format]?.(readFileSync(path("exported")));
    if (LEAVE_OUT.has(format)) expect(found, format).toBeLessThanOrEqual(traces);
    else expect(found, format).toBe(traces);
  }
}

async function run({ artE }: WorkFolder, ...commands: readonly (string | readonly string[])[]): Promise<void> {
  for (const command of commands) {
    const { code, stderr } = await artE(command);
    if (code !== 0) throw new Error(`${command}: ${stderr}`);
  }
}

describe("an export of the demo's questions", needs("exports"), () => {
  const folder = workFolder({ demo: "answered" });

  it("opens in other programs", () => expectReadable(folder, "", 73));
  it("returns with its traces when the questions were imported from a log", async () => {
    await run(
      folder,
      "export-traces --format inspect -l 12 -o log.eval --quiet",
      "import-traces log.eval --db again.db",
    );
    await expectReadable(folder, "--db again.db", 12, ["inspect", "otlp", "chat --dialect hf", "art"]);
  });
});

describe("another export of other programs' traces", needs("exports"), () => {
  const folder = workFolder();

  it.each([
    ["inspect/2026-11-20T09-00-00_art-e_tAsK1.eval", "", 4, ["inspect", "jsonl", "atif", "chat --dialect openai"]],
    ["atif/good.json", "--chats", 1, ["atif", "iofold", "otlp", "art"]],
    ["otel/good.otlp.jsonl", "--chats", 2, ["otlp", "inspect", "chat --dialect hf", "iofold"]],
  ])("opens in the original program (%s)", async (name, flags, traces, formats) => {
    const db = `--db ${traces}.db`;
    await run(folder, ["import-traces", join(EXPORTS, "examples", name), ...db.split(" ")]);
    await expectReadable(folder, `${flags} ${db}`, traces, formats);
  });
});

describe("an export of a suite's run", needs("exports"), () => {
  const folder = workFolder();
  const suite = join(ROOT, "fixtures/suites/demo");

  it("opens in other programs", needs("sandbox", machinesStart), async () => {
    await run(folder, `run --suite ${suite} --tool terminal -a oracle --tag cli --quiet -o results.json`);
    const traces = folder.readJson("results.json").taskResults.length;
    await expectReadable(folder, "", traces, ["inspect", "otlp", "atif", "chat --dialect openai"]);
  });
});

describe("an export of real questions", needs("exports"), () => {
  const folder = workFolder();

  it("opens in other programs", slow(needs("real-mail")), async () => {
    const questions = join(ENRON, "questions.jsonl");
    await run(folder, ["import", join(ENRON, "maildir.tar.gz"), "--quiet"]);
    await run(folder, ["run", "-a", "baseline", "--dataset", questions, "-l", "0", "--quiet"]);
    await expectReadable(folder, "", 60);
  });
});
