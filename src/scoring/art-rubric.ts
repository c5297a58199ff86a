import type { SameMail, Score, ScorerEntry } from "../domain/score.js";
import type { ToolErrorKind } from "../domain/tool.js";
import type { Trace } from "../domain/trace.js";
import { attemptOf } from "./abstention.js";
import { foundGold, readGold, sourcesCorrect } from "./gold-mail.js";

type Unscored = Omit<Trace, "scores">;

/** ART's record of one rollout (OpenPipe/ART, examples/art-e), under its own names. */
export interface ArtRubric {
  /** Null without a judge's verdict. */
  readonly answer_correct: boolean | null;
  readonly sources_correct: boolean;
  readonly num_turns: number;
  readonly attempted_answer: boolean;
  readonly ever_found_right_email: boolean;
  readonly ever_read_right_email: boolean;
  readonly cant_parse_tool_call: boolean;
  readonly bad_tool_call_name: boolean;
  readonly bad_tool_call_args: boolean;
  readonly ran_out_of_turns: boolean;
  readonly returned_i_dont_know: boolean;
  readonly num_sources: number;
  readonly ever_tried_to_read_invalid_email: boolean;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  /** Seconds. */
  readonly duration: number;
}

/**
 * A bad call counts wherever in the rollout it was made: ART's agents end with their first, ours are told and may go on. Ending without
 * any answer, as a spent budget does, is running out of turns.
 */
export function artRubric(trace: Unscored, sameMail: SameMail): ArtRubric {
  const attempt = attemptOf(trace);
  const failed = (kind: ToolErrorKind) => trace.toolCalls.some(({ errorKind }) => errorKind === kind);
  const holds = (score: Score) => score.value === 1;
  const sum = (tokens: "inputTokens" | "outputTokens") =>
    trace.turns.reduce((total, { usage }) => total + (usage?.[tokens] ?? 0), 0);
  const verdict = trace.judge?.verdict ?? null;
  return {
    answer_correct: attempt !== "answered" ? false : verdict === null ? null : verdict === "correct",
    sources_correct: holds(sourcesCorrect(trace, sameMail)),
    num_turns: trace.turns.length,
    attempted_answer: attempt === "answered",
    ever_found_right_email: holds(foundGold(trace, sameMail)),
    ever_read_right_email: holds(readGold(trace, sameMail)),
    cant_parse_tool_call: failed("unparsable_call"),
    bad_tool_call_name: failed("unknown_tool"),
    bad_tool_call_args: failed("bad_arguments"),
    ran_out_of_turns: attempt === "nothing",
    returned_i_dont_know: attempt === "abstained",
    num_sources: trace.sources.length,
    ever_tried_to_read_invalid_email: failed("invalid_email"),
    prompt_tokens: sum("inputTokens"),
    completion_tokens: sum("outputTokens"),
    duration: trace.durationMs / 1_000,
  };
}

/** ART's reward of a rubric, from -2 to 1.5, and the rule that gave it: the first that holds. Null where nobody judged the answer. */
export function artRewardOf(rubric: ArtRubric, maxTurns: number): Score {
  const partial =
    (rubric.ever_found_right_email ? 0.1 : 0) +
    (rubric.ever_read_right_email ? 0.1 : 0) +
    (rubric.ever_tried_to_read_invalid_email ? 0 : 0.1) +
    (rubric.sources_correct ? 0.1 : 0);
  const scored = (value: number, explanation: string): Score => ({ value: Number(value.toFixed(10)), explanation });
  if (rubric.cant_parse_tool_call) return scored(-2 + partial, "a tool call could not be parsed");
  if (rubric.bad_tool_call_name) return scored(-1.9 + partial, "a tool was called that does not exist");
  if (rubric.bad_tool_call_args) return scored(-1.8 + partial, "a tool was called with bad arguments");
  if (rubric.answer_correct === null)
    return { value: null, explanation: "no judge said whether the answer is correct" };
  if (rubric.attempted_answer && !rubric.answer_correct) return scored(-1 + partial, "attempted and wrong");
  if (rubric.returned_i_dont_know || rubric.ran_out_of_turns) return scored(partial, "no answer");
  const sources = (rubric.sources_correct ? 0.3 : 0) + (rubric.num_sources > 0 ? 0.1 / rubric.num_sources : 0);
  return scored(1 + sources + 0.1 * (1 - rubric.num_turns / maxTurns), "correct");
}

export const artReward: ScorerEntry = {
  score: (trace, sameMail) =>
    trace.judge === null
      ? { value: null, explanation: "no judge was asked" }
      : artRewardOf(artRubric(trace, sameMail), trace.maxTurns),
  label: "ART reward",
  kind: "mean",
  scale: { min: -2, max: 1.5 },
  better: "higher",
  meaning: "The reward ART trains with, -2 to 1.5; over the tasks with a judge's verdict.",
  judge: "needed",
};
