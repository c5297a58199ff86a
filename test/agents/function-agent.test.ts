import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { functionAgent } from "../../src/agents/external-agent/function-agent.js";
import { echo } from "./echo-tools.js";
import { emptyTranscript } from "./scripted-model.js";

it("a function agent gets no result of a tool call that is in progress when the task ends", async () => {
  const slow = { ...echo(), call: () => delay(20, { ok: true, value: 1 } as const) };
  let result: Promise<unknown> | undefined;
  const agent = functionAgent({
    name: "hasty",
    toolsFor: () => [slow],
    priceOf: () => null,
    noteAll: () => undefined,
    async answer({ callTool }) {
      result = callTool("echo", {}).catch((error: Error) => error.message);
      return "x";
    },
  });
  const access = { inbox: "a@x", cutoff: null, signal: new AbortController().signal };
  const variables = { inbox_address: "a@x", query_date: "2001-01-01" };
  const transcript = emptyTranscript();
  const task = { id: 1, epoch: 1, instruction: "?", variables, maxTurns: 9, context: access };
  expect(await agent.answer(task, transcript)).toMatchObject({ answer: "x", ending: "answered" });
  expect(await result).toBe("Cannot call echo: the task has ended.");
  expect(transcript.toolCalls).toEqual([]);
});
