import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Database } from "../../src/store/sqlite.js";
import { MAIL, QUESTIONS, workFolder } from "../cli/art-e.js";
import { below, seeded } from "../random.js";

/** A program reports each answer when it is stored, and is killed at random moments: every reported answer is there. */

const PROGRAM = join(import.meta.dirname, "answering-program.mjs");
const TASKS = 73 * 3;
const MANY = process.env.ART_E_LONG ? 1_000 : 60;

const { path } = workFolder({ mail: MAIL });
const random = seeded(20_261_127);

/** Runs the program until it ends, or kills it a random time after its start or after its first reports. */
async function killed(run: string): Promise<{ reported: string[]; isComplete: boolean }> {
  const env = { PATH: process.env.PATH ?? "" };
  const child = spawn(process.execPath, [PROGRAM, QUESTIONS, run], {
    cwd: path("."),
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  // Half of the kills come while it starts and plans, and half while answers are stored.
  const isEarly = below(random, 2) === 0;
  const reports = below(random, 40);
  const wait = below(random, isEarly ? 500 : 10);
  const kill = (async () => {
    while (!isEarly && output.split("\n").length <= reports && child.exitCode === null) await delay(1);
    await delay(wait);
    child.kill("SIGKILL");
  })();
  const code = await ended;
  await kill;
  if (code !== null) expect(code).toBe(0);
  // A line that the kill cut off was not reported.
  const lines = output.split("\n").slice(0, -1);
  return { reported: lines.filter((line) => /^\d+\/\d+$/.test(line)), isComplete: code === 0 };
}

function stored(): { answers: ReadonlySet<string>; runId: string | null } {
  if (!existsSync(path("art-e.db"))) return { answers: new Set(), runId: null };
  const db = new Database(path("art-e.db"));
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  const runId = (db.prepare("SELECT id FROM runs ORDER BY rowid DESC LIMIT 1").pluck().get() ?? null) as string | null;
  const rows = db
    .prepare(
      `SELECT task_id || '/' || epoch AS key, json_extract(result, '$.agentAnswer') AS answer,
              (SELECT count(*) FROM traces t WHERE t.id = r.trace_id) AS traces
       FROM results r WHERE run_id = ? AND superseded = 0`,
    )
    .all(runId) as { key: string; answer: string; traces: number }[];
  db.close();
  for (const { key, answer, traces } of rows)
    expect({ key, answer, traces }).toEqual({ key, answer: `answer ${key}`, traces: 1 });
  expect(new Set(rows.map(({ key }) => key)).size, "an answer is stored twice").toBe(rows.length);
  return { answers: new Set(rows.map(({ key }) => key)), runId };
}

async function expectNothingLost(kills: number): Promise<void> {
  let known: string[] = [];
  let run = "new";
  let completed = 0;
  for (let i = 0; i < kills; ) {
    const { reported, isComplete } = await killed(run);
    if (!isComplete) i++;
    known.push(...reported);
    const { answers, runId } = stored();
    expect(
      known.filter((key) => !answers.has(key)),
      "reported answers that are not stored",
    ).toEqual([]);
    if (isComplete) {
      expect(answers.size).toBe(TASKS);
      completed++;
      [run, known] = ["new", []];
    } else if (run === "new" && reported.length > 0) run = runId ?? run;
  }
  if (kills > 100) console.log(`${kills} kills, ${completed} runs completed between them, nothing lost`);
}

describe("a killed program", () => {
  it("loses no reported answer in 5 kills", () => expectNothingLost(5), 60_000);
  it(`loses no reported answer in ${MANY} kills`, { timeout: MANY * 30_000, tags: ["slow"] }, () =>
    expectNothingLost(MANY),
  );
});
