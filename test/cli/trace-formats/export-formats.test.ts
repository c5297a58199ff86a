import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { traceSchema } from "../../../src/traces/trace.js";
import { needs } from "../../machine-requirements.js";
import { readArtGroups } from "../../trace-formats/art-reader.js";
import { readAtif } from "../../trace-formats/atif-reader.js";
import { readChats } from "../../trace-formats/chat-reader.js";
import { readEvalFile, readJsonLog } from "../../trace-formats/inspect-reader.js";
import { jsonLines, MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, path, read, write } = workFolder({ mail: MAIL });

let runId = "";

beforeAll(async () => {
  const { code, stderr } = await artE(`run -a baseline --dataset ${QUESTIONS} -l 12 --epochs 2 --quiet -o run.json`);
  if (code !== 0) throw new Error(`the run failed: ${stderr}`);
  ({ runId } = JSON.parse(read("run.json")));
});

const bytes = (name: string) => readFileSync(path(name));
const ids = (stdout: string) => jsonLines(stdout).map(({ taskId, epoch }) => `${taskId}/${epoch}`);

describe("export-traces", () => {
  it.concurrent("--format chat writes lines that trainers take, and says how many", async ({ expect }) => {
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

  it.concurrent("--format atif writes trajectories with the agent's tools", async ({ expect }) => {
    const { stdout } = await artE("export-traces --format atif");
    const trajectories = stdout.trim().split("\n").map(readAtif);
    expect(trajectories).toHaveLength(24);
    expect(trajectories[0]?.agent).toMatchObject({
      name: "baseline",
      version: "1",
      tool_definitions: expect.any(Array),
    });
  });

  it.concurrent("--format art writes a group for each question, and warns of equal rewards", async ({ expect }) => {
    const { stdout, stderr } = await artE("export-traces --format art --reward sourcesF1");
    expect(readArtGroups(stdout).map(({ trajectories }) => trajectories.length)).toEqual(Array(12).fill(2));
    expect(stderr).toContain(
      "12 of 12 groups have one reward only, from which GRPO learns nothing: 1, 2, 3, 4, 5 and others.",
    );
    const unknown = await artE("export-traces --format art --reward art");
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain(`No task of ${runId} has a score "artReward".`);
  });

  it.concurrent("--format inspect needs a file", async ({ expect }) => {
    const { code, stderr } = await artE("export-traces --format inspect");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "art-e: This format is no text: it needs a file.\n       Name one with --output.\n",
    });
  });

  it.concurrent.each([
    ["--ids 3,1", ["1/1", "1/2", "3/1", "3/2"]],
    ["--limit 3", ["1/1", "1/2", "2/1"]],
    ["--ids 1,2 --best-of-epochs", ["1/1", "2/1"]],
    ["--ids 1,2 --min-score exactMatch=1", []],
    ["--ids 1,2 --max-score exactMatch=0,foundGold=1 -l 1", ["1/1"]],
    ["--ids 1 --by foundGold --band high", ["1/1", "1/2"]],
    ["--ids 1 --min-score found=1", ["1/1", "1/2"]],
  ])("%s chooses among them", async (flags, expected) => {
    const { stdout } = await artE(`export-traces ${flags}`);
    expect(stdout === "" ? [] : ids(stdout)).toEqual(expected);
  });

  it.concurrent.each([
    ["--ids 99", "has no result of a task 99."],
    ["--min-score nothing=1", 'has a score "nothing".'],
    ["--min-score 1.5", "No trace can meet --min-score 1.5: semanticScore is from 0 to 1."],
    ["--max-score found=-0.1", "No trace can meet --max-score -0.1: foundGold is from 0 to 1."],
    [
      "--min-score found=0.9 --max-score foundGold=0.5",
      "No trace can meet --min-score 0.9: --max-score asks for at most 0.5 of foundGold.",
    ],
    ["--min-score high", "--min-score: expected a score such as 0.5, or METRIC=VALUE,METRIC=VALUE."],
    ["--dialect hf", "--dialect is of --format chat."],
    ["--reward art", "--reward is of --format art."],
    ["--chats --band low", "--chats and --session ask for chats, which have no scores;"],
    ["--for evals", "--for evals writes a folder."],
    ["--for evals --band low -o x", "--band asks for something else."],
    ["--for evals --by goldRank -o x", "of goldRank lower is better."],
    ["--for evals -o run.json", "--output: run.json exists and is not a folder of traces for evals."],
    ["--for evals -o no/where", "--output: no/where."],
  ])("refuses %s", async (flags, message) => {
    const { code, stderr } = await artE(`export-traces ${flags}`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });

  it("writes over traces of any format, and over nothing else", async () => {
    write("other.zip", "PK\x03\x04 something else");
    expect((await artE("export-traces -o other.zip")).stderr).toContain("other.zip exists and is not a traces file.");
    for (const format of ["inspect", "inspect-json", "art", "atif", "chat", "jsonl"]) {
      expect((await artE(`export-traces --format ${format} -o any --quiet`)).code).toBe(0);
    }
  });
});

describe("export-traces --for evals", () => {
  it("writes the bands with the reason for each trace, and replaces only a folder of its own", async () => {
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
    expect(bands.low).toMatchObject({ range: "below 0.5", use: ["failure modes", "bug reproductions"] });
    expect(bands.low.traces[0].why).toMatch(/^semanticScore 0\.\d+ is below 0\.5/);

    expect((await artE("export-traces --for evals -o evals --ids 1 --json")).code).toBe(0);
    expect(JSON.parse(read("evals/manifest.json")).bands.low.count).toBeLessThan(3);
    mkdirSync(path("mine"));
    write("mine/notes.txt", "precious");
    expect((await artE("export-traces --for evals -o mine")).stderr).toContain("mine exists and is not a folder");
    expect(readdirSync(path("mine"))).toEqual(["notes.txt"]);
  });
});

interface Entry {
  readonly traceId: string;
}

describe("export-traces as Inspect logs", needs("exports"), () => {
  it("are read by Python and by the viewer", async () => {
    await artE("export-traces --format inspect -o log.eval --quiet");
    await artE("export-traces --format inspect-json -o log.json --quiet");
    for (const reader of ["python", "viewer"] as const) {
      expect(readEvalFile(bytes("log.eval"), reader).samples).toHaveLength(24);
      expect(readJsonLog(read("log.json"), reader)).toMatchObject({ status: "success", eval: { run_id: runId } });
    }
  });
});
