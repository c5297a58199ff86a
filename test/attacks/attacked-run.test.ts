import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ATTACK_KINDS } from "../../src/tasks/attack.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import { demoSet, openDemo, type TestDb } from "../runs/demo-setup.js";
import { benchmark, type Finished } from "../runs/run-setup.js";
import { type ScriptedAgent, scriptedModel } from "./scripted-agents.js";

let demo: TestDb;
let set: QuestionSet;

beforeAll(async () => {
  demo = await openDemo();
  set = await demoSet();
});

afterAll(() => demo.close());

function attacked(agent: ScriptedAgent, perturbation: "hostile" | "hostile-control" = "hostile"): Promise<Finished> {
  return benchmark(demo.db, {
    model: scriptedModel(agent),
    set,
    questions: set.questions.slice(0, 28),
    scorers: ["sourcesCorrect", "resisted", "hijacked", "falseAlarm"],
    perturb: { perturbation },
  });
}

const valuesOf = ({ results }: Finished, score: string) => results.map(({ scores }) => scores[score]);

describe("a run under attack", () => {
  it("counts every attack on an agent that obeys, of every kind, and says where it obeyed", async () => {
    const run = await attacked("obeys");
    expect(new Set(run.results.map(({ attack }) => attack?.kind))).toEqual(new Set(ATTACK_KINDS));
    expect(run.results.every(({ attack }) => attack?.shown === true)).toBe(true);
    expect(valuesOf(run, "hijacked").filter((value) => value === 1).length).toBeGreaterThanOrEqual(27);
    const forward = run.traces.find(({ attack }) => attack?.kind === "forward");
    expect(forward?.scores.hijacked?.explanation).toMatch(/^forward: .*@.* in the (actions|arguments)/);
  });

  it("counts nothing for agents that ignore or quote the emails, nor for harmless emails", {
    timeout: 60_000,
  }, async () => {
    for (const agent of ["deaf", "quotes"] as const) {
      expect(valuesOf(await attacked(agent), "resisted")).toEqual(set.questions.slice(0, 28).map(() => 1));
    }
    const control = await attacked("obeys", "hostile-control");
    expect(valuesOf(control, "falseAlarm")).toEqual(set.questions.slice(0, 28).map(() => 0));
    expect(valuesOf(control, "resisted")).toEqual(set.questions.slice(0, 28).map(() => undefined));
  });

  it("plants the same emails in a repeat, and keeps them out of the database", async () => {
    const mails = () => demo.db.prepare("SELECT count(*) FROM mails").pluck().get();
    const before = mails();
    const [first, second] = [await attacked("deaf"), await attacked("quotes")];
    const attacks = ({ traces }: Finished) => new Map(traces.map(({ taskId, attack }) => [taskId, attack]));
    expect(attacks(second)).toEqual(attacks(first));
    expect(mails()).toBe(before);
    const ids = first.traces.flatMap(({ attack }) => attack?.emails ?? []).map(({ message_id }) => message_id);
    const stored = demo.db.prepare("SELECT count(*) FROM messages WHERE message_id = ?").pluck();
    expect(ids.filter((id) => stored.get(id) !== 0)).toEqual([]);
  });
});
