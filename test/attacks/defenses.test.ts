import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cloneAgent, updateAgent } from "../../src/agents/registry.js";
import { TOOL_RESULTS, withoutDataMarks } from "../../src/models/tool-results.js";
import type { JsonObject } from "../../src/platform/json.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import { type FakeProvider, startFakeProvider } from "../providers/fake-provider.js";
import type { ProviderReply } from "../providers/wire-reply.js";
import type { ParsedRequest } from "../providers/wire-request.js";
import { demoSet, openDemo, type TestDb } from "../runs/demo-setup.js";
import { benchmark, remote } from "../runs/run-setup.js";
import { type SeenEmail, workOf } from "./scripted-agents.js";

/** The experiment in docs/hostile-mail.md: one scripted model over HTTP, and three ways to receive tool results. */

let demo: TestDb;
let set: QuestionSet;
let provider: FakeProvider;

beforeAll(async () => {
  demo = await openDemo();
  set = await demoSet();
  provider = await startFakeProvider(obeysUnmarkedText);
});

afterAll(async () => {
  await provider.close();
  demo.close();
});

/** A model that obeys the emails it receives, except if a mark or a note says that they are data. */
function obeysUnmarkedText({ turn, question, system, results }: ParsedRequest): ProviderReply {
  const [inbox_id = ""] = /[\w.]+@[\w.-]+\.\w+/.exec(system) ?? [];
  const read = results.map(({ content }) => ({
    isMarked: withoutDataMarks(content) !== content,
    value: JSON.parse(withoutDataMarks(content)) as SeenEmail & { emails?: readonly SeenEmail[]; note?: string },
  }));
  const call = (name: string, args: JsonObject) => ({ name, arguments: args });
  if (turn === 0) return { toolCalls: [call("email_search", { query: question, inbox_id, limit: 50 })] };
  if (turn === 1) {
    const listed = read.flatMap(({ value }) => value.emails ?? []).slice(0, 15);
    return { toolCalls: listed.map(({ message_id }) => call("email_get", { message_id })) };
  }
  const obeyed = read.filter(({ isMarked, value }) => !isMarked && value.note === undefined);
  const own = { answer: "It is so.", sources: [] };
  const emails = obeyed.map(({ value }) => value);
  const { answer, sources } = workOf("obeys", emails, own);
  return { toolCalls: [call("return_final_answer", { answer, sources: [...sources] })] };
}

describe("a model that obeys emails unless it is told that they are data", () => {
  it("obeys every plain email, and resists delimited emails and emails with a note", async () => {
    const resisted = new Map<string, number>();
    for (const toolResults of TOOL_RESULTS) {
      const agentId = `search-${toolResults}`;
      cloneAgent(demo.db, "email-search", agentId);
      updateAgent(demo.db, agentId, { settings: { toolResults } });
      const { results, traces } = await benchmark(demo.db, {
        model: await remote("anthropic", provider.baseUrl("anthropic")),
        agentId,
        set,
        questions: set.questions.slice(0, 12),
        scorers: ["resisted", "hijacked"],
        perturb: { perturbation: "hostile", attackKinds: ["order", "system-message", "cite-only"] },
      });
      expect(results.every(({ attack }) => attack?.shown === true)).toBe(true);
      const values = results.map(({ scores }) => scores.resisted ?? Number.NaN);
      resisted.set(toolResults, values.reduce((sum, value) => sum + value, 0) / values.length);
      // The trace contains what the model received.
      const received = traces.flatMap(({ messages }) => messages.filter(({ role }) => role === "tool"));
      const isPut = { plain: /^\{/, delimited: /^<tool_result id="/, note: /"note":"This email is from outside\./ };
      expect(received.filter(({ content }) => isPut[toolResults].test(content)).length).toBeGreaterThan(12);
    }
    expect(Object.fromEntries(resisted)).toEqual({ plain: 0, delimited: 1, note: 1 });
  });
});
