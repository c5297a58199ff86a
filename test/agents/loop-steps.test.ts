import { expect, it } from "vitest";
import { type AgentStep, newTranscript, runAgent } from "../../src/agents/agent-loop.js";
import { echo, ending } from "./echo-tools.js";
import { agentRun, call, finish, scripted } from "./scripted-model.js";

const told = (step: AgentStep) =>
  step.type === "reply" ? step.calls.map(({ name }) => name) : `result of ${step.call.name}`;

it("the loop tells each reply with the calls it makes, and each result, and waits until it has been heard", async () => {
  const steps: unknown[] = [];
  const model = scripted([
    {
      toolCalls: [
        { name: "echo", arguments: {} },
        { name: "echo", arguments: { refuse: "failed" } },
      ],
    },
    finish("$40"),
  ]);
  const heard: number[] = [];
  const run = agentRun(model, [echo(), ending], {
    async onStep(step) {
      const asked = model.requests.length;
      steps.push(told(step));
      await new Promise(setImmediate);
      heard.push(model.requests.length - asked);
    },
  });
  await runAgent(run, newTranscript(run));
  expect(steps).toEqual([
    ["echo", "echo"],
    ...["result of echo", "result of echo"],
    ["return_final_answer"],
    "result of return_final_answer",
  ]);
  expect(heard.every((since) => since === 0)).toBe(true);
});

it("calls that are not made are not told", async () => {
  const steps: unknown[] = [];
  const two = {
    toolCalls: [
      { name: "echo", arguments: {} },
      { name: "echo", arguments: {} },
    ],
  };
  const run = agentRun(scripted([two, call("echo"), finish("x")]), [echo(), ending], {
    settings: { toolCalls: "first" },
    onStep: (step) => void steps.push(told(step)),
  });
  await runAgent(run, newTranscript(run));
  expect(steps).toEqual([
    ["echo"],
    "result of echo",
    ["echo"],
    "result of echo",
    ["return_final_answer"],
    "result of return_final_answer",
  ]);
});

it("a listener that throws ends the run", async () => {
  const onStep = () => Promise.reject(new Error("nobody listens"));
  const run = agentRun(scripted([finish("x")]), [ending], { onStep });
  await expect(runAgent(run, newTranscript(run))).rejects.toThrow("nobody listens");
});
