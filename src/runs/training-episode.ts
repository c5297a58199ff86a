import { z } from "zod";
import { endingOfAnswer, type OpenedTask, type Transcript } from "../agents/agent.js";
import { callTool } from "../agents/agent-loop.js";
import { NO_USAGE, type ToolMessage, type Usage } from "../models/model.js";
import type { JsonObject } from "../platform/json.js";
import { openWorkspace } from "../sandbox/workspace.js";
import { REWARD, SCORERS, type ScorerName, similarity } from "../scoring/scorers.js";
import { type Ending, isFailure } from "../tasks/ending.js";
import type { Question } from "../tasks/question.js";
import type { Agent, Tool, ToolResult } from "../tools/tool.js";
import type { AttemptOutcome } from "../traces/result-writer.js";
import type { Score, ScorerEntry } from "../traces/score.js";
import type { Judgement, QuestionTrace, ToolCallRecord, Trace } from "../traces/trace.js";
import { traceFields } from "./answer-task.js";
import { type Scoring, withScores } from "./score-traces.js";

/** Timeout per tool call, in milliseconds. */
const TOOL_MS = 45_000;

/** Consecutive turns without a usable call after which an episode ends, like a task in a run. */
const MAX_UNUSABLE_TURNS = 3;

const CHARS_PER_TOKEN = 4;

/** Limits on the data that a client sends with one call, because the trace stores it. */
const MAX_CHARS = 1_000_000;
const MAX_NAME_CHARS = 200;

/** Minimum semantic score for a correct answer if the judge gave no verdict. */
const CORRECT_FROM = 0.5;

/** Data about the model's reply that a client can send with a call. Unreadable values are dropped. */
const saidSchema = z.object({
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
  readonly tools: ReadonlyMap<string, Tool>;
  readonly maxTurns: number;
  /** Maximum tokens per episode, or null for no limit. */
  readonly maxTokens: number | null;
  readonly timeoutMs: number;
  /**
   * Timeout of the judge, in milliseconds. An answer without a verdict by then is rewarded as if there were no judge.
   */
  readonly judgeMs: number;
  readonly reward: ScorerName;
  readonly scoring: Scoring;
}

export interface EpisodeRun {
  readonly runId: string;
  readonly model: string;
  /** Resolves once the trace is in the database. */
  save(trace: Trace, outcome: AttemptOutcome): Promise<void>;
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
  readonly result: ToolResult | { readonly ok: false; readonly error: string; readonly kind: "timeout" };
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

/** A task that a trainer's model works on, one call at a time. Each call must be answered before the next one. */
export class Episode {
  stepCount = 0;
  private readonly transcript: Transcript;
  private readonly workspace = openWorkspace();
  private readonly startedAt = new Date();
  private readonly started = performance.now();
  /** When the client last received a result. The time from then until its next call is the model's latency. */
  private answeredAt = this.started;
  private unreadChars: number;
  private tokens = 0;
  private unusable = 0;
  private calling: AbortController | null = null;
  private end: Ending | null = null;
  /** Settles when the episode is over and its trace is saved. */
  private ended: Promise<unknown> = Promise.resolve();

  constructor(
    readonly id: string,
    private readonly task: EpisodeTask,
    private readonly rules: EpisodeRules,
    private readonly run: EpisodeRun,
  ) {
    const { system, opened } = task;
    const messages: Transcript["messages"] = [
      { role: "system", content: system },
      { role: "user", content: opened.instruction },
    ];
    this.transcript = { messages, toolCalls: [], turns: [] };
    this.unreadChars = system.length + opened.instruction.length;
  }

  /** The ending, or null while the episode is running. */
  get ending(): Ending | null {
    return this.end;
  }

  get turnsLeft(): number {
    return Math.max(0, this.rules.maxTurns - this.transcript.turns.length);
  }

  /** Makes one tool call. Throws on a bug in art-e, or if the call ends the episode and its trace cannot be saved. */
  async call(name: string, args: JsonObject, said: unknown): Promise<EpisodeStep> {
    this.stepCount++;
    if (this.end !== null) return { ...refusal("failed", "The episode is over: reset begins another."), done: true };
    if (performance.now() - this.started >= this.rules.timeoutMs) return this.endByTime();
    const turn = this.transcript.turns.length;
    const call = { id: `call_${turn + 1}`, name, arguments: args };
    const told = saidSchema.safeParse(said).data ?? {};
    const content = (told.content ?? "").slice(0, MAX_CHARS);
    const argumentChars = JSON.stringify(args).length;
    const isTooLong = argumentChars > MAX_CHARS || name.length > MAX_NAME_CHARS;
    const called = isTooLong
      ? failedCall({ ...call, name: name.slice(0, MAX_NAME_CHARS), arguments: {} }, turn, TOO_LONG)
      : await this.callTool(call, turn);
    if (this.end !== null) return { ...refusal("failed", "The episode was ended."), done: true };
    const { messages, toolCalls } = this.transcript;
    const made = { id: called.record.id, name: called.record.name, arguments: called.record.arguments };
    messages.push({ role: "assistant", content, toolCalls: [made] }, called.message);
    toolCalls.push(called.record);
    this.addTurn(told, name.length + argumentChars + content.length, called.record.durationMs);
    this.unreadChars = called.message.content.length;
    const { result } = called;
    if (result.ok && result.final !== undefined) {
      const { answer, sources } = result.final;
      return this.endWith(result, endingOfAnswer(answer, sources), answer.trim(), sources);
    }
    const isUnusable = !result.ok && UNUSABLE.has(result.kind);
    this.unusable = isUnusable ? this.unusable + 1 : 0;
    if (this.unusable >= MAX_UNUSABLE_TURNS) return this.endWith(result, "tool_protocol_error");
    if (this.turnsLeft === 0) return this.endWith(result, "out_of_turns");
    // Includes the tokens that the model has not read yet.
    const tokens = this.tokens + this.unreadChars / CHARS_PER_TOKEN;
    if (tokens >= (this.rules.maxTokens ?? Number.POSITIVE_INFINITY)) return this.endWith(result, "out_of_budget");
    this.answeredAt = performance.now();
    return { result, reward: 0, done: false, end: null };
  }

  /** Ends the episode without a reward, unless it is already over. Resolves when its trace is saved. */
  async interrupt(why: string): Promise<void> {
    if (this.end === null) {
      this.end = "interrupted";
      this.calling?.abort();
      await this.workspace.close();
      this.ended = this.run.save(this.trace("interrupted", null, [], why), "failed");
    }
    await this.ended;
  }

  private async callTool(call: Call, turn: number): Promise<Called> {
    const startedAt = performance.now();
    const calling = new AbortController();
    this.calling = calling;
    const timer = setTimeout(() => calling.abort(), TOOL_MS);
    const aborted = new Promise<null>((resolve) => {
      calling.signal.addEventListener("abort", () => resolve(null), { once: true });
    });
    try {
      const context = { ...this.task.opened.access, signal: calling.signal, workspace: this.workspace };
      const called = await Promise.race([callTool(call, turn, this.rules.tools, context), aborted]);
      return called ?? failedCall(call, turn, TOO_SLOW, performance.now() - startedAt);
    } finally {
      clearTimeout(timer);
      this.calling = null;
    }
  }

  private addTurn({ model, usage: told }: z.output<typeof saidSchema>, chars: number, toolMs: number): void {
    const usage: Usage = {
      ...NO_USAGE,
      inputTokens: told?.input_tokens ?? Math.ceil(this.unreadChars / CHARS_PER_TOKEN),
      outputTokens: told?.output_tokens ?? Math.ceil(chars / CHARS_PER_TOKEN),
    };
    this.tokens += usage.inputTokens + usage.outputTokens;
    const latencyMs = Math.max(0, performance.now() - this.answeredAt - toolMs);
    this.transcript.turns.push({
      startedAt: new Date(Date.now() - latencyMs - toolMs).toISOString(),
      ...(model === undefined ? {} : { model }),
      latencyMs,
      finishReason: "tool_calls",
      rawFinishReason: "tool_calls",
      usage,
      costUsd: null,
      retries: [],
      cached: false,
    });
  }

  private endByTime(): Promise<EpisodeStep> {
    const error = `The episode's time of ${this.rules.timeoutMs / 1_000} s is over.`;
    return this.endWith({ ok: false, kind: "timeout", error }, "timeout", null, [], error);
  }

  private endWith(...how: Parameters<Episode["finish"]>): Promise<EpisodeStep> {
    this.end = how[1];
    const step = this.finish(...how);
    // The caller receives the error. `interrupt` only waits.
    this.ended = step.catch(() => undefined);
    return step;
  }

  private async finish(
    result: EpisodeStep["result"],
    ending: Ending,
    answer: string | null = null,
    sources: readonly string[] = [],
    error: string | null = null,
  ): Promise<EpisodeStep> {
    await this.workspace.close();
    const { scoring, judgeMs, reward: scorer } = this.rules;
    const judged = await withJudgement(this.trace(ending, answer, sources, error), scoring, judgeMs);
    const reward = rewardOf(judged, scorer, scoring);
    const [scored = judged] = await withScores([judged], scoring, NEVER);
    const trace = { ...scored, scores: { ...scored.scores, [REWARD]: reward } };
    await this.run.save(trace, isFailure(ending) ? "failed" : "finished");
    const scores = Object.fromEntries(Object.entries(scored.scores).map(([name, { value }]) => [name, value]));
    const end = { ending, reward: { ...reward, scorer }, scores, traceId: trace.traceId };
    return { result, reward: reward.value, done: true, end };
  }

  private trace(
    ending: Ending,
    answer: string | null,
    sources: readonly string[],
    error: string | null,
  ): QuestionTrace {
    const { agent, maxTurns } = this.rules;
    const { runId, model } = this.run;
    const times = {
      startedAt: this.startedAt.toISOString(),
      endedAt: new Date().toISOString(),
      durationMs: performance.now() - this.started,
    };
    const remote = { sessionId: this.id, traceId: null };
    const { question, epoch } = this.task;
    const rollout = { ...this.transcript, ending, answer, sources, remote };
    const fields = { runId, agentId: agent.id, model, maxTurns };
    return {
      ...traceFields(fields, { kind: "question", task: question, epoch }, { times, rollout, error }),
      kind: "question",
      task: question,
    };
  }
}

const NEVER = new AbortController().signal;

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

type Failure = Extract<EpisodeStep["result"], { ok: false }>;

interface Called {
  readonly message: ToolMessage;
  readonly record: ToolCallRecord;
  readonly result: EpisodeStep["result"];
}

const TOO_SLOW: Failure = { ok: false, kind: "timeout", error: `The tool took longer than ${TOOL_MS / 1_000} s.` };

const TOO_LONG: Failure = {
  ok: false,
  kind: "bad_arguments",
  error: `A call may have ${MAX_CHARS} characters of arguments and ${MAX_NAME_CHARS} of name.`,
};

/** Returns the record of a call that got no result from its tool. */
function failedCall({ id, name, arguments: args }: Call, turn: number, result: Failure, durationMs = 0): Called {
  const { error, kind } = result;
  const startedAt = new Date(Date.now() - durationMs).toISOString();
  const errorKind = kind === "timeout" ? "failed" : kind;
  return {
    result,
    message: { role: "tool", toolCallId: id, name, content: error, isError: true },
    record: { id, name, arguments: args, result: null, error, errorKind, turn, startedAt, durationMs },
  };
}

/** Error kinds that make a turn unusable. */
const UNUSABLE: ReadonlySet<string> = new Set(["unparsable_call", "unknown_tool", "bad_arguments"]);

function refusal(kind: "failed" | "timeout", error: string): EpisodeStep {
  return { result: { ok: false, kind, error }, reward: 0, done: false, end: null };
}

async function withJudgement(trace: QuestionTrace, { judge }: Scoring, judgeMs: number): Promise<QuestionTrace> {
  if (judge === null) return trace;
  const { question, answer: gold } = trace.task;
  const signal = AbortSignal.timeout(judgeMs);
  return { ...trace, judge: await judge.judge({ question, gold, answer: trace.answer }, signal) };
}

type Reward = Score & { readonly value: number };

/**
 * Returns the scorer's value. If lower is better, converts it to 1 - value for a rate and to 1 / value for a rank. If
 * the judge gave no verdict, an answer counts as correct from a semantic score of 0.5. If the scorer has no value for
 * the question, the reward is the semantic score.
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
    return { value: overlap, explanation: `semanticScore, as ${name} has no value: ${explanation ?? "none"}` };
  }
  const paid = scorer.better === "higher" ? value : scorer.kind === "rate" ? 1 - value : 1 / value;
  if (isUnjudged && scorer.judge !== undefined) {
    const why = `no verdict of the judge (${trace.judge?.reason ?? "not asked"}): semanticScore ${overlap.toFixed(3)}`;
    return { value: paid, explanation: `${why} counts as ${overlap >= CORRECT_FROM ? "correct" : "wrong"}` };
  }
  return explanation === undefined ? { value: paid } : { value: paid, explanation };
}

function withoutVerdict(judgement: Judgement | null, overlap: number): Judgement | null {
  return judgement === null ? null : { ...judgement, verdict: overlap >= CORRECT_FROM ? "correct" : "wrong" };
}
