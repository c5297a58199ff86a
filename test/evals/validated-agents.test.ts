import { describe, expect, it } from "vitest";
import type { EvalTest, TracedAgent } from "../../src/evals/definition.js";
import { otherAgents } from "../../src/evals/validated-agents.js";

const VALIDATED: TracedAgent = { agentId: "search", version: 2, model: "openai/gpt", prompt: "01234567" };
const SECOND: TracedAgent = { ...VALIDATED, agentId: "second" };

const compared = (here: TracedAgent, isImported?: boolean) => {
  const test = { agents: [SECOND, VALIDATED], criterion: "overall", isImported } as Partial<EvalTest> as EvalTest;
  return otherAgents(test, [VALIDATED, here], "run_1");
};

describe("otherAgents", () => {
  it("returns null for the agents that the eval was validated on", () => expect(compared(SECOND)).toBeNull());

  it.each([{ agentId: "third" }, { version: 3 }, { version: null }, { model: "openai/other" }, { prompt: null }])(
    "returns an agent that differs from the validated ones in %j",
    (change) => {
      const here = { ...VALIDATED, ...change };
      expect(compared(here)).toEqual({
        here: [here],
        validated: [SECOND, VALIDATED],
        label: { command: "art-e evals label run_1", count: 20 },
      });
    },
  );

  it.each([
    [{ version: 3 }, 0],
    [{ version: 3, prompt: null }, 1],
  ])("ignores only the version if the test is from another database (%j)", (change, others) =>
    expect(compared({ ...VALIDATED, ...change }, true)?.here ?? []).toHaveLength(others),
  );
});
