import { describe, expect, it } from "vitest";
import type { ExportedTrace } from "../../src/trace-formats/export-traces/exported-trace.js";
import { FORMATS } from "../../src/trace-formats/formats.js";
import { readArtGroups } from "./art-reader.js";
import { type AtifTrajectory, readAtif } from "./atif-reader.js";
import { contextOf } from "./context.js";
import {
  ALL_KINDS,
  BROKEN_OFF,
  BY_TOOL,
  CHAT,
  CUT_OFF,
  NOT_STARTED,
  PROGRAM,
  REFUSED,
  SECOND_EPOCH,
  TOOLS,
} from "./kinds-of-traces.js";
import { ANSWERED } from "./traces.js";

function groups(traces: readonly ExportedTrace[], reward = "semanticScore") {
  const context = contextOf({ options: { dialect: "openai", reward, content: true }, toolsOf: () => TOOLS });
  return { read: readArtGroups([...FORMATS.art.lines(traces, context)].join("\n")), report: context.report };
}

describe("the ART format", () => {
  it("groups a question's epochs, each with its reward", () => {
    const { read, report } = groups([ANSWERED, BY_TOOL, SECOND_EPOCH, CUT_OFF]);
    expect(read.map(({ trajectories }) => trajectories.map(({ reward }) => reward))).toEqual([
      [0.5],
      [0.5, 0.25],
      [0.5],
    ]);
    expect(report.notes).toEqual([
      "The choices have no log probabilities, so ART trains on them only if allow_training_without_logprobs=True is set.",
      "2 of 3 groups have equal rewards, so GRPO learns nothing from them: 7, 10. Run more epochs to get different rewards.",
    ]);
    expect(groups([BY_TOOL, SECOND_EPOCH]).report.notes).toEqual([expect.stringContaining("log probabilities")]);
  });

  it("omits traces that have no reward, or no reply to train on", () => {
    const { read, report } = groups(ALL_KINDS, "exactMatch");
    expect(read.flatMap(({ trajectories }) => trajectories.map(({ metadata }) => metadata.trace_id))).toEqual(
      ["1", "by_tool", "epoch_2", "refused", "cut_off", "out_of_turns"].map((id) => `trace_${id}`),
    );
    expect(report.leftOut).toEqual({ "no exactMatch": 6, "a tool result without a call": 1 });
    const unanswered = { ...NOT_STARTED, scores: { taskScore: { value: 0 } } };
    expect(groups([unanswered], "taskScore").report.leftOut).toEqual({ "no reply": 1 });
  });

  it("writes the finish reason of each reply and the other facts about the trace", () => {
    const [group] = groups([BY_TOOL]).read;
    expect(group?.trajectories[0]).toMatchObject({
      messages_and_choices: [{ role: "system" }, { role: "user" }, { finish_reason: "tool_calls" }, {}, {}, {}, {}],
      metrics: { exactMatch: 1, turns: 2, duration: 3.5, input_tokens: 1050, output_tokens: 25, cost_usd: 0.002 },
      metadata: { task_id: 8, epoch: 1, run_id: "run_1", ending: "answered" },
      logs: ["judgeScore: partly: near enough", "judgeCorrect: partly: near enough"],
    });
    expect(group?.trajectories[0]?.tools).toHaveLength(TOOLS.length);
    const context = contextOf({ options: { dialect: "openai", reward: "semanticScore", content: true } });
    const [line = ""] = FORMATS.art.lines([REFUSED], context);
    expect(JSON.parse(line).trajectories[0]).not.toHaveProperty("tools");
    const reasons = groups([CUT_OFF]).read[0]?.trajectories[0]?.messages_and_choices.flatMap((item) =>
      "finish_reason" in item ? [item.finish_reason] : [],
    );
    expect(reasons).toEqual(["length", "stop", "stop"]);
    const failed = { ...BROKEN_OFF, scores: { artReward: { value: -1 } } };
    expect(groups([failed], "artReward").read[0]?.trajectories[0]).toMatchObject({
      reward: -1,
      logs: [`model_error: ${BROKEN_OFF.error}`],
    });
  });
});

function trajectory(trace: ExportedTrace): AtifTrajectory {
  const lines = [...FORMATS.atif.lines([trace], contextOf({ toolsOf: () => TOOLS }))];
  expect(lines).toHaveLength(1);
  return readAtif(lines[0] ?? "");
}

describe("the ATIF format", () => {
  it.each(ALL_KINDS.map((trace) => [trace.traceId, trace] as const))(
    "writes a readable trajectory for %s",
    (id, trace) => {
      expect(trajectory(trace)).toMatchObject({ trajectory_id: id, agent: { name: "email-search" } });
    },
  );

  it("puts tool results into the step of their calls, and counts cached tokens as input", () => {
    const { steps, final_metrics, agent } = trajectory(BY_TOOL);
    expect(steps.map(({ source }) => source)).toEqual(["system", "user", "agent", "agent"]);
    expect(steps[2]).toMatchObject({
      model_name: "best-2026-01-01",
      tool_calls: [{ tool_call_id: "c1", arguments: { query: "call" } }, { tool_call_id: "c2" }],
      observation: { results: [{ source_call_id: "c1" }, { source_call_id: "c2", content: '{"total":0}' }] },
      metrics: {
        prompt_tokens: 1000,
        completion_tokens: 20,
        cached_tokens: 600,
        cost_usd: 0.001,
        extra: { finish_reason: "tool_calls", waited_ms: 250, response_id: "resp_1" },
      },
    });
    expect(final_metrics).toEqual({
      total_prompt_tokens: 1050,
      total_completion_tokens: 25,
      total_cached_tokens: 600,
      total_cost_usd: 0.002,
      total_steps: 4,
    });
    expect(agent.tool_definitions).toHaveLength(3);
  });

  it("puts the task, scores and tool errors into extra", () => {
    expect(trajectory(BY_TOOL).extra).toMatchObject({
      ending: "answered",
      answer: "On Friday.",
      epoch: 1,
      runId: "run_1",
      task: BY_TOOL.task,
      scores: { judgeScore: { value: 0.5, explanation: "partly: near enough" } },
      judge: { verdict: "partly" },
    });
    expect(trajectory(ANSWERED).steps[2]?.metrics?.extra).toMatchObject({ tool_errors: { c2: "not JSON" } });
    expect(trajectory(BROKEN_OFF).extra).toMatchObject({ error: BROKEN_OFF.error, ending: "model_error" });
  });

  it("omits earlier chats, and writes only the question if a task never started", () => {
    expect(trajectory(CHAT).steps.map(({ message }) => message)).toEqual(["You search.", "When is the call?", "", ""]);
    expect(trajectory(CHAT).agent.version).toBe("3");
    expect(trajectory(NOT_STARTED).steps).toMatchObject([{ source: "user", message: "Plot it." }]);
  });

  it("assigns an external agent's only turn to the last reply, and results without a call to the previous reply", () => {
    const { steps } = trajectory(PROGRAM);
    expect(steps[2]).toMatchObject({ message: "I look.", observation: { results: [{ content: "found" }] } });
    expect(steps.map(({ llm_call_count }) => llm_call_count)).toEqual([undefined, undefined, undefined, 1]);
  });
});
