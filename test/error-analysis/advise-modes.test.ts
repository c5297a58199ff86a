import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adviseModes, type ModeAdvice } from "../../src/error-analysis/advise-modes.js";
import { openCoding, saveNote } from "../../src/error-analysis/coding.js";
import { changeModes } from "../../src/error-analysis/modes.js";
import { adviceText } from "../../src/reports/mode-text.js";
import { openStore } from "../../src/store/open-store.js";
import { saveRun, saveTask } from "../traces/saved-runs.js";

const TRACES = 150;

/** Traces with long answers. No feature measures anything else that differs. */
const isLong = (i: number) => i % 5 === 0;

/** The failure modes of the i-th trace. */
const MODES: Readonly<Record<string, (i: number) => boolean>> = {
  long_answer: isLong,
  rude: (i) => i % 4 === 1,
  no_greeting: (i) => i % 5 !== 4,
  any_fault: (i) => isLong(i) || i % 5 === 1 || i % 10 === 2,
  rare: (i) => i % 50 === 3,
};

describe("adviseModes", () => {
  const folder = mkdtempSync(join(tmpdir(), "art-e-"));
  const path = join(folder, "modes.db");
  const settings = { db: path, cacheDir: folder, agentStderr: null, env: {} };
  const db = openStore(path, { mustExist: false });
  let advice: Readonly<Record<string, ModeAdvice>> = {};
  const PASS = { runId: "run_a", coded: TRACES };
  const text = () => adviceText(Object.values(advice), PASS, false);
  let repeatedLong = 0;

  beforeAll(async () => {
    saveRun(db, "run_a");
    const change = db.prepare(
      `UPDATE traces SET trace = json_set(trace, '$.answer', ?, '$.task.question', ?, '$.task.answer', ?)
       WHERE id = (SELECT trace_id FROM results WHERE run_id = 'run_a' AND task_id = ?)`,
    );
    for (let i = 1; i <= TRACES; i++) {
      saveTask(db, "run_a", i, 0.5);
      const answer = Array.from({ length: isLong(i) ? 60 : 5 }, () => "word").join(" ");
      change.run(answer, `What is the code of number ${i}?`, `gold ${i}`, i);
    }
    const coding = await openCoding(db, { run: "run_a", limit: TRACES, seed: 1, enriched: false });
    const numberOf = db.prepare("SELECT task_id FROM results WHERE trace_id = ?").pluck();
    const numbers = new Map(coding.queue.map((draw) => [draw.traceId, numberOf.get(draw.traceId) as number]));
    for (const draw of coding.queue) {
      const i = numbers.get(draw.traceId) ?? 0;
      if (draw.isRepeat && isLong(i)) repeatedLong++;
      const isFine = Object.values(MODES).every((has) => !has(i));
      saveNote(db, { ...draw, note: isFine ? null : `note ${i}`, annotator: null });
    }
    for (const [mode, has] of Object.entries(MODES)) {
      const notes = [...numbers].filter(([, i]) => has(i)).map(([id]) => id);
      changeModes(db, { action: "assign", mode, notes });
    }
    const advised = await adviseModes({ seed: 1 }, settings);
    expect(advised.pass).toEqual(PASS);
    advice = Object.fromEntries(advised.advice.map((one) => [one.mode.name, one]));
  }, 60_000);
  afterAll(() => {
    db.close();
    rmSync(folder, { recursive: true });
  });

  it("finds the template of a mode, with its rates", () => {
    expect(advice.long_answer).toMatchObject({ kind: "template", mode: { traces: 30, rate: { value: 0.2 } } });
    expect(advice.long_answer).toHaveProperty("unconfirmed", 30 - repeatedLong);
    expect(advice.long_answer).toHaveProperty("templates.0.alignment.trueNegativeRate", 1);
    expect(advice.long_answer).toHaveProperty("templates.0.isOneOfSeveral", false);
    expect(text()).toMatch(/^ {2}short_answer@1 +1\.000 +1\.000 +0\.000 +answer_words > \d+$/m);
    expect(text()).toMatch(/^Next: art-e evals test$/m);
  });

  it("recommends a rubric for a mode without a template", () => {
    expect(advice.rude).toMatchObject({ kind: "rubric" });
  });

  it("recommends a fix in the prompt for a mode in most traces", () => {
    expect(advice.no_greeting).toMatchObject({ kind: "prompt", reason: "frequent" });
  });

  it("reports that a template with high precision and low recall finds one of several modes", () => {
    expect(advice.any_fault).toMatchObject({ kind: "template" });
    expect(advice.any_fault).toHaveProperty("templates.0.name", "short_answer");
    expect(advice.any_fault).toHaveProperty("templates.0.isOneOfSeveral", true);
    expect(text()).toContain("It finds one of several modes");
  });

  it("recommends more labels for a mode with few traces", () => {
    expect(advice.rare).toMatchObject({ kind: "labels", why: expect.stringContaining("for rare") });
  });
});
