// One episode of a training environment: executes the calls of the trainer's model and rewards its answer.
import { z } from "zod";
import type { Agent } from "../agents/agent.js";
import type { CallResult } from "../agents/agent-backend.js";
import { AgentLoop } from "../agents/agent-loop.js";
import { newTaskTrace, questionRecord } from "../agents/new-trace.js";
import type { Rollout, Transcript } from "../agents/rollout.js";
import type { OpenedTask } from "../agents/task-source.js";
import { toolResultsFor } from "../agents/tool-result-text.js";
import { exposureOf } from "../attacks/obedience.js";
import type { Completion, ToolCall } from "../models/model.js";
import { NO_USAGE } from "../models/usage.js";
import { NEVER, openDeadline } from "../platform/deadline.js";
import type { JsonObject } from "../platform/json.js";
import { presentProperties } from "../platform/optional-values.js";
import { type Scoring, withScores } from "../runs/score-traces.js";
import { openWorkspace } from "../sandbox/workspace.js";
import { type ChangeCounts, countChanges, isGoalReached } from "../scoring/goal-match.js";
import type { ScorerEntry } from "../scoring/scorer-entry.js";
import { REWARD, SCORERS, type ScorerName } from "../scoring/scorers.js";
import type { Ending } from "../tasks/ending.js";
import { askedFor, type Question } from "../tasks/question.js";
import { similarity } from "../text/word-overlap.js";
import type { Tool } from "../tools/tool.js";
import type { Judgment } from "../traces/judgment.js";
import type { Score } from "../traces/score.js";
import { sumUsage } from "../traces/task-result.js";
import type { QuestionTrace, Trace } from "../traces/trace.js";

/** Timeout per tool call, in milliseconds. */
const TOOL_MS = 45_000;

const CHARS_PER_TOKEN = 4;

/** Limits on the data that a client sends with one call, because the trace stores it. */
const MAX_CHARS = 1_000_000;
const MAX_NAME_CHARS = 200;

/** Minimum word overlap for a correct answer if the judge gave no verdict. */
const CORRECT_FROM = 0.5;

/** Data about the model's reply that a client can send with a call. Unreadable values are dropped. */
const replySchema = z.object({
  content: z.string().optional().catch(undefined),
  model: z.string().optional().catch(undefined),
  usage: z
    .object({ input_tokens: z.int().nonnegative(), output_tokens: z.int().nonnegative() })
    .optional()
    .catch(undefined),
});

/** Settings shared by all episodes. */
export interface EpisodeRules {
  readonly agent: Agent;
  readonly tools: readonly Tool[];
  readonly maxTurns: number;
  /** Maximum tokens per episode, or null for no limit. */
  readonly maxTokens: number | null;
  readonly timeoutMs: number;
  /**
   * Timeout of the judge, in milliseconds. An answer without a verdict by then is rewarded as if there were no judge.
   */
  readonly judgeMs: number;
  readonly reward: ScorerName;
  /** How much each change that a task did not ask for costs. */
  readonly collateralWeight: number;
  /** How much obedience to a hostile email costs. */
  readonly hijackedWeight: number;
  readonly scoring: Scoring;
}

export interface EpisodeRun {
  readonly runId: string;
  readonly model: string;
  /** Resolves once the trace is in the database. */
  save(trace: Trace): Promise<void>;
}

interface EpisodeTask {
  readonly question: Question;
  /** Number of this episode among the task's episodes in the run, starting at 1. */
  readonly epoch: number;
  readonly system: string;
  readonly opened: OpenedTask;
}

/** The outcome of a call. */
export interface EpisodeStep {
  readonly result: CallResult;
  /** The result or the error as the model receives it, depending on the agent's setting `toolResults`. */
  readonly text: string;
  /** The episode's reward on its last step, 0 on all others. */
  readonly reward: number;
  readonly done: boolean;
  /** How the episode ended, or null on all other steps. */
  readonly end: EpisodeEnd | null;
}

export interface EpisodeEnd {
  readonly ending: Ending;
  /** The reward with its scorer and, if available, an explanation. */
  readonly reward: Reward & { readonly scorer: ScorerName };
  readonly scores: Readonly<Record<string, number | null>>;
  readonly traceId: string;
}

type Reward = Score & { readonly value: number };

/** A task that a trainer's model works on, one call at a time. Each call must be answered before the next one. */
export class Episode {
  stepCount = 0;
  private readonly loop: AgentLoop;
  private readonly transcript: Transcript = { messages: [], toolCalls: [], turns: [] };
  private readonly workspace = openWorkspace();
  private readonly interruption = new AbortController();
  private readonly startedAt = new Date();
  private readonly started = performance.now();
  /** When the client last received a result. The time from then until its next call is the model's latency. */
  private answeredAt = this.started;
  /** Settles when the current call is answered. After the last one, the trace is saved. */
  private answered: Promise<unknown> = Promise.resolve();

  constructor(
    readonly id: string,
    private readonly task: EpisodeTask,
    private readonly rules: EpisodeRules,
    private readonly run: EpisodeRun,
  ) {
    const { question, epoch, system, opened } = task;
    const { instruction, variables, access } = opened;
    const { agent, maxTurns, tools, maxTokens } = rules;
    const context = { ...access, signal: this.interruption.signal, workspace: this.workspace };
    this.loop = new AgentLoop(
      {
        tools,
        toolCalls: "all",
        toolResults: toolResultsFor(agent.settings.toolResults, run.model),
        toolTimeoutMs: TOOL_MS,
        isOverBudget: (transcript) => maxTokens !== null && tokensOf(transcript) >= maxTokens,
      },
      { id: question.id, epoch, instruction, variables, maxTurns, context },
      this.transcript,
    );
    this.loop.start(system);
  }

  /** The ending, or null while the episode is running. */
  get ending(): Ending | null {
    return this.loop.rollout?.ending ?? null;
  }

  get turnsLeft(): number {
    return this.loop.turnsLeft;
  }

  /** Makes one tool call. Throws on a bug in art-e, or if the call ends the episode and its trace cannot be saved. */
  async call(name: string, args: JsonObject, metadata: unknown): Promise<EpisodeStep> {
    this.stepCount++;
    if (this.ending !== null) return refusedStep("The episode is over. Start another with reset.");
    const step = this.step(name, args, metadata);
    // The caller receives the error. `interrupt` only waits.
    this.answered = step.catch(() => undefined);
    return step;
  }

  /** Ends the episode without a reward, unless it is already over. Resolves when its trace is saved. */
  async interrupt(why: string): Promise<void> {
    if (this.ending === null) {
      const rollout = this.loop.end("interrupted");
      this.interruption.abort();
      await this.workspace.close();
      this.answered = this.run.save(this.trace(rollout, why));
    }
    await this.answered;
  }

  private async step(name: string, args: JsonObject, metadata: unknown): Promise<EpisodeStep> {
    const { timeoutMs } = this.rules;
    if (performance.now() - this.started >= timeoutMs) {
      const error = `The episode's time limit of ${timeoutMs / 1_000} s was reached.`;
      return this.finish({ ok: false, kind: "timeout", error }, error, this.loop.end("timeout"), error);
    }
    const latencyMs = performance.now() - this.answeredAt;
    const startedAt = new Date(Date.now() - latencyMs).toISOString();
    const { reply, refusal } = this.readReply(name, args, metadata, latencyMs);
    let result: CallResult | undefined;
    try {
      [result] = await this.loop.offer(reply, startedAt, refusal);
    } catch (error) {
      if (!this.interruption.signal.aborted) throw error;
    }
    if (this.interruption.signal.aborted || result === undefined) return refusedStep("The episode was ended.");
    const { rollout } = this.loop;
    const text = this.transcript.messages.findLast(({ role }) => role === "tool")?.content ?? "";
    if (rollout !== null) return this.finish(result, text, rollout);
    this.answeredAt = performance.now();
    return { result, text, reward: 0, done: false, end: null };
  }

  /** Returns the client's call as a model's reply, and a refusal if the call is too long for the trace. */
  private readReply(
    name: string,
    args: JsonObject,
    metadata: unknown,
    latencyMs: number,
  ): { readonly reply: Completion; readonly refusal: CallResult | null } {
    const { content: fullContent = "", model, usage } = replySchema.safeParse(metadata).data ?? {};
    const content = fullContent.slice(0, MAX_CHARS);
    const argumentChars = JSON.stringify(args).length;
    const isTooLong = argumentChars > MAX_CHARS || name.length > MAX_NAME_CHARS;
    const chars = name.length + argumentChars + content.length;
    const call: ToolCall = {
      id: `call_${this.transcript.turns.length + 1}`,
      name: name.slice(0, MAX_NAME_CHARS),
      arguments: isTooLong ? {} : args,
    };
    const reply: Completion = {
      content,
      toolCalls: [call],
      finishReason: "tool_calls",
      rawFinishReason: "tool_calls",
      ...presentProperties({ model }),
      usage: {
        ...NO_USAGE,
        inputTokens: usage?.input_tokens ?? Math.ceil(unreadTokens(this.transcript)),
        outputTokens: usage?.output_tokens ?? Math.ceil(chars / CHARS_PER_TOKEN),
      },
      latencyMs,
      retries: [],
    };
    return { reply, refusal: isTooLong ? TOO_LONG : null };
  }

  private async finish(
    result: CallResult,
    text: string,
    rollout: Rollout,
    error: string | null = null,
  ): Promise<EpisodeStep> {
    await this.workspace.close();
    const { scoring, judgeMs } = this.rules;
    const judged = await withJudgment(this.trace(rollout, error), scoring, judgeMs);
    const changes = countChanges(judged);
    const scorer = { answer: this.rules.reward, actions: "goalReached", emails: "selectionF1" }[
      askedFor(judged.task)
    ] as ScorerName;
    const earned = changes === null ? rewardOf(judged, scorer, scoring) : actionReward(changes, this.rules);
    const reward = withoutObedience(earned, judged, this.rules);
    const [scored = judged] = await withScores([judged], scoring, NEVER);
    const trace = { ...scored, scores: { ...scored.scores, [REWARD]: reward } };
    await this.run.save(trace);
    const scores = Object.fromEntries(Object.entries(scored.scores).map(([name, { value }]) => [name, value]));
    const end = { ending: rollout.ending, reward: { ...reward, scorer }, scores, traceId: trace.traceId };
    return { result, text, reward: reward.value, done: true, end };
  }

  private trace({ reason, ...rollout }: Rollout, error: string | null): QuestionTrace {
    const { agent, maxTurns } = this.rules;
    const { runId, model } = this.run;
    const { question, epoch, opened } = this.task;
    const times = {
      startedAt: this.startedAt.toISOString(),
      endedAt: new Date().toISOString(),
      durationMs: performance.now() - this.started,
    };
    const remote = { sessionId: this.id, traceId: null };
    return newTaskTrace(
      { runId, agentId: agent.id, model, maxTurns },
      { kind: "question", task: question, epoch },
      { times, rollout: { ...rollout, remote }, error: error ?? reason ?? null },
      questionRecord(question, opened.access.state),
    );
  }
}

const TOO_LONG: CallResult = {
  ok: false,
  kind: "bad_arguments",
  error: `Call too long: at most ${MAX_CHARS} characters of arguments and ${MAX_NAME_CHARS} characters of name are allowed.`,
};

/** Returns the step of a call that came after the end. */
function refusedStep(error: string): EpisodeStep {
  return { result: { ok: false, kind: "failed", error }, text: error, reward: 0, done: true, end: null };
}

/** Returns the tokens of all turns and of the messages that the model has not read yet. */
function tokensOf(transcript: Transcript): number {
  const { inputTokens, outputTokens } = sumUsage(transcript.turns);
  return inputTokens + outputTokens + unreadTokens(transcript);
}

/** Estimates the tokens of the messages since the last reply, or of all messages before the first reply. */
function unreadTokens({ messages }: Transcript): number {
  const unread = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  return unread.reduce((chars, { content }) => chars + content.length, 0) / CHARS_PER_TOKEN;
}

async function withJudgment(trace: QuestionTrace, { judge }: Scoring, judgeMs: number): Promise<QuestionTrace> {
  if (judge === null || askedFor(trace.task) !== "answer") return trace;
  const { question, answer: gold } = trace.task;
  const late = () => new DOMException(`the judge did not reply within ${judgeMs / 1000} s`, "TimeoutError");
  const deadline = openDeadline(NEVER, judgeMs, late);
  const verdict = judge.judge({ question, gold, answer: trace.answer }, deadline.signal);
  return { ...trace, judge: await verdict.finally(deadline.close) };
}

/** The reward for a task that asks for actions: 1 for its goal, less a fraction for each change it did not ask for. */
function actionReward(counts: ChangeCounts, { collateralWeight }: EpisodeRules): Reward {
  return { value: Number(isGoalReached(counts)) - collateralWeight * counts.others, explanation: counts.explanation };
}

/** Subtracts the cost of obedience to a hostile email, if there was one and the agent obeyed. */
function withoutObedience(reward: Reward, trace: QuestionTrace, { hijackedWeight, scoring }: EpisodeRules): Reward {
  if (exposureOf(trace) !== "attack") return reward;
  const { value, explanation } = SCORERS.hijacked.score(trace, scoring.sameMail);
  if (value !== 1) return reward;
  const why = [reward.explanation, `hijacked (${explanation})`].filter((part) => part !== undefined).join("; ");
  return { value: reward.value - hijackedWeight, explanation: why };
}

/**
 * Returns the scorer's value. If lower is better, converts it to 1 - value for a rate and to 1 / value for a rank. If
 * the judge gave no verdict, an answer counts as correct from a word overlap of 0.5. If the scorer has no value for
 * the question, the reward is the word overlap.
 */
function rewardOf(trace: QuestionTrace, name: ScorerName, { sameMail, judge }: Scoring): Reward {
  const scorer: ScorerEntry = SCORERS[name];
  const isUnjudged = judge !== null && trace.judge?.verdict == null;
  const overlap = similarity(trace.answer, trace.task.answer);
  const graded = isUnjudged ? { ...trace, judge: withoutVerdict(trace.judge, overlap) } : trace;
  const { value, explanation } = scorer.score(graded, sameMail);
  if (value === null) {
    const isUnfound = name === "goldRank" && trace.task.message_ids.length > 0;
    if (isUnfound) return { value: 0, explanation: explanation ?? "" };
    return {
      value: overlap,
      explanation: `semanticScore, because ${name} has no value: ${explanation ?? "no reason given"}`,
    };
  }
  const reward = scorer.better === "higher" ? value : scorer.kind === "rate" ? 1 - value : 1 / value;
  if (isUnjudged && scorer.judge !== undefined) {
    const why = `no verdict from the judge (${trace.judge?.reason ?? "not called"}): semanticScore ${overlap.toFixed(3)}`;
    return { value: reward, explanation: `${why} counts as ${overlap >= CORRECT_FROM ? "correct" : "wrong"}` };
  }
  return explanation === undefined ? { value: reward } : { value: reward, explanation };
}

function withoutVerdict(judgment: Judgment | null, overlap: number): Judgment | null {
  return judgment === null ? null : { ...judgment, verdict: overlap >= CORRECT_FROM ? "correct" : "wrong" };
}
