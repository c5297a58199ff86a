import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ENRON, EXPORTS, needs } from "../../machine-requirements.js";
import { machinesStart } from "../../suites/machines-start.js";
import { readArtGroups } from "../../trace-formats/art-reader.js";
import { readAtif } from "../../trace-formats/atif-reader.js";
import { readChats } from "../../trace-formats/chat-reader.js";
import { readEvalFile, readJsonLog } from "../../trace-formats/inspect-reader.js";
import { ALL_KINDS } from "../../trace-formats/kinds-of-traces.js";
import { readOtlp } from "../../trace-formats/otlp-reader.js";
import { stepSchema } from "../../trace-formats/step-schema.js";
import { ROOT, type WorkFolder, workFolder } from "../art-e.js";

/** Every format of every kind of run passes the rules of those who read it. */

const lines = (bytes: Buffer) => bytes.toString().split("\n").slice(0, -1);

/** Each throws for a file that its readers refuse, and gives the traces that it found. */
const READERS: Readonly<Record<string, (bytes: Buffer) => number>> = {
  jsonl: (bytes) => lines(bytes).length,
  iofold: (bytes) => new Set(lines(bytes).map((line) => stepSchema.parse(JSON.parse(line)).trace_id)).size,
  inspect: (bytes) => readEvalFile(bytes, "python").samples.length && readEvalFile(bytes, "viewer").samples.length,
  "inspect-json": (bytes) => {
    readJsonLog(bytes.toString(), "python");
    return (readJsonLog(bytes.toString(), "viewer").samples as unknown[]).length;
  },
  otlp: (bytes) => {
    readOtlp(bytes.toString());
    return lines(bytes).length;
  },
  "chat --dialect openai": (bytes) => readChats(bytes.toString(), "openai", { minLines: 0 }).length,
  "chat --dialect hf": (bytes) => readChats(bytes.toString(), "hf", { minLines: 0 }).length,
  atif: (bytes) => lines(bytes).map(readAtif).length,
  art: (bytes) => readArtGroups(bytes.toString()).reduce((sum, { trajectories }) => sum + trajectories.length, 0),
};

/** Formats that leave out what is of no use to a trainer. */
const LEAVE_OUT = new Set(["chat --dialect openai", "chat --dialect hf", "art"]);

async function expectReadable({ artE, path }: WorkFolder, flags: string, traces: number): Promise<void> {
  for (const [format, read] of Object.entries(READERS)) {
    const { code, stderr } = await artE(`export-traces --format ${format} ${flags} -o exported --overwrite --quiet`);
    expect({ format, code, stderr }).toEqual({ format, code: 0, stderr: "" });
    const found = read(readFileSync(path("exported")));
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

describe("exports of the demo's questions", needs("exports"), () => {
  const folder = workFolder({ demo: "answered" });

  it("are read", () => expectReadable(folder, "", 73));
  it("are read where they were imported from a log", async () => {
    await run(folder, "export-traces --format inspect -o log.eval --quiet", "import-traces log.eval --db again.db");
    await expectReadable(folder, "--db again.db", 73);
  });
});

describe("exports of all kinds of traces", needs("exports"), () => {
  const folder = workFolder();
  beforeAll(async () => {
    const runs = ALL_KINDS.map((trace) => ("grade" in trace ? { ...trace, runId: "run_suite" } : trace));
    folder.write("kinds.jsonl", runs.map((trace) => JSON.stringify(trace)).join("\n"));
    await run(folder, "import-traces kinds.jsonl");
  });

  it("with errors, refusals, cut-offs, repeats, several calls at once and a judge are read", () =>
    expectReadable(folder, "--run run_1", 10));
  it("of a suite are read", () => expectReadable(folder, "--run run_suite", 2));
  it("of chats are read", () => expectReadable(folder, "--chats", 1));
});

describe("exports of other programs' traces", needs("exports"), () => {
  const folder = workFolder();

  it.each([
    ["inspect/2026-11-20T09-00-00_art-e_tAsK1.eval", "", 4],
    ["atif/good.json", "--chats", 1],
    ["otel/good.otlp.jsonl", "--chats", 2],
  ])("of %s are read", async (name, flags, traces) => {
    const db = `--db ${traces}.db`;
    await run(folder, ["import-traces", join(EXPORTS, "examples", name), ...db.split(" ")]);
    await expectReadable(folder, `${flags} ${db}`, traces);
  });
});

describe("exports of a suite's run", needs("exports"), () => {
  const folder = workFolder();
  const suite = join(ROOT, "fixtures/suites/demo");

  it("are read", needs("sandbox", machinesStart), async () => {
    await run(folder, `run --suite ${suite} --tool terminal -a oracle --tag cli --quiet -o results.json`);
    await expectReadable(folder, "", folder.readJson("results.json").taskResults.length);
  });
});

describe("exports of real questions", needs("exports"), () => {
  const folder = workFolder();

  it("are read", needs("real-mail"), async () => {
    const questions = join(ENRON, "questions.jsonl");
    await run(folder, ["import", join(ENRON, "maildir.tar.gz"), "--quiet"]);
    await run(folder, ["run", "-a", "baseline", "--dataset", questions, "-l", "0", "--quiet"]);
    await expectReadable(folder, "", 60);
  });
});
