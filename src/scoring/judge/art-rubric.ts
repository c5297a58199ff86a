// ART's rubric and reward, computed from a trace as ART's rollout would have recorded it.
import { jsonObjectSchema } from "../../platform/json.js";
import type { ToolErrorKind } from "../../tools/tool.js";
import { observedWork } from "../../traces/observed-work.js";
import type { Score } from "../../traces/score.js";
import type { ToolCallRecord } from "../../traces/trace.js";
import type { SameMail, ScorerEntry, UnscoredTrace } from "../scorer-entry.js";
import { foundGold, readGold, sourcesCorrect } from "../scorers/gold-mail-scorers.js";

/** ART's record of one rollout, with its field names (https://github.com/OpenPipe/ART, examples/art-e). */
interface ArtRubric {
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

interface ArtEnd {
  readonly why: "bad_tool_call_args" | "bad_tool_call_name";
  readonly turn: number;
}

/**
 * Returns the record that ART's rollout would have produced for the same replies. ART's rollout ends at the first
 * invalid call and at the first reply without a call, even if that reply is an answer in plain text. Our agents receive
 * an error and can continue, but later replies are ignored here. A copy counts as the gold email, and one of several
 * gold emails is enough. Ending without an answer for another reason, such as an exhausted budget, counts as running
 * out of turns.
 */
export function artRubric(trace: UnscoredTrace, sameMail: SameMail): ArtRubric {
  const { end, seen } = findArtEnd(trace);
  const final = end === null ? finalAnswer(trace) : null;
  const isDontKnow = final === DONT_KNOW;
  const attempted = final !== null && !isDontKnow;
  const turns = end === null ? trace.turns : trace.turns.slice(0, end.turn + 1);
  const rollout = { ...trace, toolCalls: [...seen] };
  const isRight = ({ score }: ScorerEntry, of: UnscoredTrace) => score(of, sameMail).value === 1;
  const sum = (tokens: "inputTokens" | "outputTokens") =>
    turns.reduce((total, { usage }) => total + (usage?.[tokens] ?? 0), 0);
  const verdict = trace.judge?.verdict ?? null;
  const ranOut = end === null && final === null;
  return {
    answer_correct: attempted ? (verdict === null ? null : verdict === "correct") : false,
    sources_correct: attempted && isRight(sourcesCorrect, trace),
    // ART also counts the turn after its last allowed one.
    num_turns: end === null ? turns.length + (ranOut ? 1 : 0) : end.turn + 1,
    attempted_answer: attempted,
    ever_found_right_email: isRight(foundGold, rollout),
    ever_read_right_email: isRight(readGold, rollout),
    // Only agents that write their calls as text can fail to parse. For all others, such a call has bad arguments.
    cant_parse_tool_call: false,
    bad_tool_call_name: end?.why === "bad_tool_call_name",
    bad_tool_call_args: end?.why === "bad_tool_call_args",
    ran_out_of_turns: ranOut,
    returned_i_dont_know: isDontKnow,
    num_sources: attempted ? trace.sources.length : 0,
    ever_tried_to_read_invalid_email: seen.some(({ errorKind }) => errorKind === "invalid_email"),
    prompt_tokens: sum("inputTokens"),
    completion_tokens: sum("outputTokens"),
    duration: trace.durationMs / 1_000,
  };
}

/** Compared literally. ART counts any other wording as an attempt. */
const DONT_KNOW = "I don't know";

/** Command and endpoint agents do not have an answer tool, so their text is the answer. */
const ANSWERS_IN_TEXT = /^(command|endpoint)\//;

const WRONG_CALLS: Partial<Record<ToolErrorKind, ArtEnd["why"]>> = {
  unparsable_call: "bad_tool_call_args",
  bad_arguments: "bad_tool_call_args",
  unknown_tool: "bad_tool_call_name",
};

/** The invalid reply that would have ended ART's rollout, or null, and the calls before it. */
function findArtEnd({ toolCalls, messages, model }: UnscoredTrace): {
  end: ArtEnd | null;
  seen: readonly ToolCallRecord[];
} {
  const replies = messages.filter((message) => message.role === "assistant");
  const firstWithoutCall = ANSWERS_IN_TEXT.test(model)
    ? -1
    : replies.findIndex((reply) => reply.toolCalls.length === 0);
  const callsBefore = firstWithoutCall === -1 ? toolCalls : toolCalls.filter(({ turn }) => turn < firstWithoutCall);
  for (const [i, { id, errorKind, turn }] of callsBefore.entries()) {
    if (errorKind === null) continue;
    // ART parses the arguments before it checks the name.
    const isUnreadable = replies[turn]?.toolCalls.some((call) => call.id === id && call.invalid !== undefined);
    const why = isUnreadable ? "bad_tool_call_args" : WRONG_CALLS[errorKind];
    if (why !== undefined) return { end: { why, turn }, seen: callsBefore.slice(0, i) };
  }
  return {
    end: firstWithoutCall === -1 ? null : { why: "bad_tool_call_args", turn: firstWithoutCall },
    seen: callsBefore,
  };
}

/** The answer exactly as the agent wrote it, untrimmed, or null if it is missing. */
function finalAnswer({ answer, toolCalls }: UnscoredTrace): string | null {
  if (answer === null) return null;
  const argument = jsonObjectSchema.safeParse(toolCalls.at(-1)?.arguments).data?.answer;
  return typeof argument === "string" && argument.trim() === answer ? argument : answer;
}

/** Returns ART's reward for a rubric, from -2 to 1.5. The first matching rule applies. Null without a verdict. */
export function artRewardOf(rubric: ArtRubric, maxTurns: number): Score {
  const partial =
    (rubric.ever_found_right_email ? 0.1 : 0) +
    (rubric.ever_read_right_email ? 0.1 : 0) +
    (rubric.ever_tried_to_read_invalid_email ? 0 : 0.1) +
    (rubric.sources_correct ? 0.1 : 0);
  const scored = (value: number, explanation: string): Score => ({ value: Number(value.toFixed(10)), explanation });
  if (rubric.cant_parse_tool_call) return scored(-2 + partial, "a tool call could not be parsed");
  if (rubric.bad_tool_call_name) return scored(-1.9 + partial, "the agent called an unknown tool");
  if (rubric.bad_tool_call_args) return scored(-1.8 + partial, "the agent called a tool with bad arguments");
  if (rubric.answer_correct === null) return { value: null, explanation: "no judge verdict" };
  if (rubric.attempted_answer && !rubric.answer_correct) return scored(-1 + partial, "wrong answer");
  if (rubric.returned_i_dont_know || rubric.ran_out_of_turns) return scored(partial, "no answer");
  const sources = (rubric.sources_correct ? 0.3 : 0) + (rubric.num_sources > 0 ? 0.1 / rubric.num_sources : 0);
  return scored(1 + sources + 0.1 * (1 - rubric.num_turns / maxTurns), "correct");
}

export const artReward: ScorerEntry = {
  score(trace, sameMail) {
    if (trace.judge === null) return { value: null, explanation: "no judge" };
    if (!observedWork(trace).modelCalls) return { value: null, explanation: "the turns of this agent are unknown" };
    return artRewardOf(artRubric(trace, sameMail), trace.maxTurns);
  },
  label: "ART reward",
  kind: "mean",
  scale: { min: -2, max: 1.5 },
  better: "higher",
  meaning:
    "ART's training reward, -2 to 1.5. Its rollout ends at the first invalid call or at a reply without a call. Over the tasks with a judge's verdict.",
  judge: "needed",
};
