import { describe, expect, it } from "vitest";
import { FORMATS } from "../../src/trace-formats/formats.js";
import type { ExportedTrace } from "../../src/trace-formats/trace-format.js";
import { readArtGroups } from "./art-reader.js";
import { contextOf } from "./context.js";
import { ALL_KINDS, BROKEN_OFF, BY_TOOL, CUT_OFF, NOT_STARTED, SECOND_EPOCH, TOOLS } from "./kinds-of-traces.js";
import { ANSWERED } from "./traces.js";

function groups(traces: readonly ExportedTrace[], reward = "semanticScore") {
  const context = contextOf({ options: { dialect: "openai", reward, content: true }, toolsOf: () => TOOLS });
  return { read: readArtGroups([...FORMATS.art.lines(traces, context)].join("\n")), report: context.report };
}

describe("ART's trajectory groups", () => {
  it("are the repeats of a question, with the reward of each", () => {
    const { read, report } = groups([ANSWERED, BY_TOOL, SECOND_EPOCH, CUT_OFF]);
    expect(read.map(({ trajectories }) => trajectories.map(({ reward }) => reward))).toEqual([
      [0.5],
      [0.5, 0.25],
      [0.5],
    ]);
    expect(report.notes).toEqual([
      "2 of 3 groups have one reward only, from which GRPO learns nothing: 7, 10. More epochs give more rewards.",
    ]);
    expect(groups([BY_TOOL, SECOND_EPOCH]).report.notes).toEqual([]);
  });

  it("leave out what has no reward or no reply to train on", () => {
    const { read, report } = groups(ALL_KINDS, "exactMatch");
    expect(read.flatMap(({ trajectories }) => trajectories.map(({ metadata }) => metadata.trace_id))).toEqual(
      ["1", "by_tool", "epoch_2", "refused", "cut_off", "out_of_turns"].map((id) => `trace_${id}`),
    );
    expect(report.leftOut).toEqual({ "no exactMatch": 6, "a result of no call": 1 });
    const unanswered = { ...NOT_STARTED, scores: { taskScore: { value: 0 } } };
    expect(groups([unanswered], "taskScore").report.leftOut).toEqual({ "no reply": 1 });
  });

  it("say why a reply ended, and what else is known of the trace", () => {
    const [group] = groups([BY_TOOL]).read;
    expect(group?.trajectories[0]).toMatchObject({
      messages_and_choices: [{ role: "system" }, { role: "user" }, { finish_reason: "tool_calls" }, {}, {}, {}, {}],
      metrics: { exactMatch: 1, turns: 2, duration: 3.5, input_tokens: 1050, output_tokens: 25, cost_usd: 0.002 },
      metadata: { task_id: 8, epoch: 1, run_id: "run_1", ending: "answered" },
      logs: ["judgeScore: partly: near enough", "judgeCorrect: partly: near enough"],
    });
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
