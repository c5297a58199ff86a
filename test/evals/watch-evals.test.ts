import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { BY_PERSON } from "../../src/evals/definition.js";
import { saveLabels } from "../../src/evals/labels.js";
import { activateEval, getEval, saveDraft } from "../../src/evals/store.js";
import { testEval } from "../../src/evals/test-eval.js";
import { watchEvals } from "../../src/evals/watch-evals.js";
import { openStore } from "../../src/store/open-store.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { saveSynthetic } from "../reports/synthetic-run.js";

const folder = mkdtempSync(join(tmpdir(), "art-e-watch-"));
const path = join(folder, "art-e.db");
const db = openStore(path, { mustExist: false });
afterAll(() => {
  db.close();
  rmSync(folder, { recursive: true });
});

const context = {
  settings: { db: path, cacheDir: folder, agentStderr: null, env: {} },
  signal: new AbortController().signal,
  progress: () => ({ update() {}, stop() {} }),
};

const NOW = "2026-01-01T00:00:00.000Z";

/** Saves a run whose answers cite a source, except for every third one. */
function saveCiting(id: string, tasks: number, scoresOf: (task: number) => QuestionTrace["scores"] = () => ({})): void {
  const change = (trace: QuestionTrace): QuestionTrace => {
    const task = Number(trace.taskId);
    const sources = task % 3 === 0 ? [] : ["<a@b>"];
    return { ...trace, ending: "answered", error: null, answer: "Yes", sources, scores: scoresOf(task) };
  };
  saveSynthetic(db, { id, tasks, change });
}

/** Saves an active eval with one condition. */
function saveActive(name: string, feature: string): void {
  const pass = { all: [{ feature, at_least: 1 }] };
  const draft = { name, kind: "rules", reference: false, criterion: name, pass, origin: BY_PERSON } as const;
  activateEval(db, saveDraft(db, draft, NOW).stored, null);
}

saveCiting("run_validated", 60);
saveCiting("run_other", 30);
saveActive("brief", "answer_words");
saveActive("cites", "sources");

const watch = async (run: string) => (await watchEvals({ names: [], run }, context)).evals;

it("watchEvals requires a test if none of the active evals was tested", async () => {
  await expect(watch("run_other")).rejects.toThrow("Cannot watch brief@1: it was never validated.");
});

it("watchEvals compares with the validated run, even if another run is watched first, and counts each run once", async () => {
  const given = { criterion: "overall", source: "person", note: null, annotator: null, isRepeat: false } as const;
  const draw = { drawn: "all", drawnFrom: null, probability: null, createdAt: NOW } as const;
  const labelOf = (task: number) => (task % 3 === 0 ? ("bad" as const) : ("good" as const));
  saveLabels(
    db,
    Array.from({ length: 60 }, (_, i) => ({
      ...{ ...given, ...draw, traceId: `trace_run_validated_${i + 1}`, label: labelOf(i + 1) },
    })),
  );
  await testEval({ name: "cites", criterion: "overall", thresholds: "usable" }, context);
  expect(getEval(db, "cites").status).toBe("active");
  const watched = async (run: string) => {
    const [one, ...others] = await watch(run);
    expect(others).toEqual([]);
    return [one?.stored.definition.name, one?.notFresh, one?.reference, one?.watches, one?.drift.agent.fresh];
  };
  const reference = { judged: 60, traces: 60 };
  const none = { successes: 0, n: 0 };
  expect(await watched("run_other")).toEqual(["cites", null, reference, 1, { successes: 20, n: 30 }]);
  expect(await watched("run_validated")).toEqual(["cites", "reference", reference, 2, none]);
  expect(await watched("run_other")).toEqual(["cites", "counted", reference, 3, none]);
});

it.each([
  ["the same", "eval:cites@1", { successes: 10, n: 30 }],
  ["another", "eval:cites@2", { successes: 20, n: 30 }],
])("watchEvals uses stored scores of %s version, but repeats those that failed", async (_, version, fresh) => {
  const run = `run_${version.at(-1)}`;
  // Half of the 20 answers with a source have a stored score that fails them, and the other half failed to get one.
  saveCiting(run, 30, (task) => ({ "eval:cites": task <= 15 ? { value: 0 } : { value: null, failed: true } }));
  db.prepare("UPDATE runs SET settings = json_set(settings, '$.scorers', json_array(?)) WHERE id = ?").run(
    version,
    run,
  );
  db.exec("DELETE FROM eval_baselines");
  const [one] = await watch(run);
  expect(one?.drift.agent.fresh).toEqual(fresh);
});
