import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { promptFor } from "../../src/agents/agent-loop.js";
import { getAgent } from "../../src/agents/registry-store.js";
import { NO_EVALS } from "../../src/evals/scoring-evals.js";
import { NO_USAGE } from "../../src/models/usage.js";
import type { JsonObject } from "../../src/platform/json.js";
import { questionSuite } from "../../src/questions/dataset.js";
import { scoringOf } from "../../src/runs/score-traces.js";
import { RESULT_FILE_SCORERS, type ScorerName } from "../../src/scoring/scorers.js";
import type { QuestionSet } from "../../src/tasks/question.js";
import { loadTools } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { Episode, type EpisodeStep } from "../../src/training/episode.js";
import { scripted } from "../agents/scripted-model.js";
import { demoSet, MARCUS, never, openDemo, question, type TestDb } from "../runs/demo-setup.js";
import { benchmark } from "../runs/run-setup.js";

const QUESTION = 1;
const SCORERS: readonly ScorerName[] = RESULT_FILE_SCORERS;

let demo: TestDb;
let set: QuestionSet;
beforeAll(async () => {
  demo = await openDemo();
  set = await demoSet();
});
afterAll(() => demo.close());

type Call = readonly [name: string, args: JsonObject];

const UNKNOWN: Call = ["send_email", { to: "everyone" }];
const WRONG: Call = ["email_search", { words: 1 }];
const HIDDEN: Call = ["email_get", { message_id: "<nothing@nowhere>" }];
const SEARCH: Call = ["email_search", { query: "meeting", inbox_id: MARCUS }];
const answer = (text: string, sources: readonly string[] = []): Call => [
  "return_final_answer",
  { answer: text, sources: [...sources] },
];

const USAGE = { input_tokens: 900, output_tokens: 30 };
const MODEL = "trained-1";

/** The trace of a run whose model makes these calls. */
async function runWith(calls: readonly Call[]): Promise<QuestionTrace> {
  const lines = calls.map(([name, args], i) => ({
    content: `step ${i + 1}`,
    model: MODEL,
    toolCalls: [{ id: `call_${i + 1}`, name, arguments: args }],
    usage: { ...NO_USAGE, inputTokens: USAGE.input_tokens, outputTokens: USAGE.output_tokens },
  }));
  const questions = [question(set.questions, QUESTION)];
  const { traces } = await benchmark(demo.db, { model: scripted(lines), set, questions, scorers: SCORERS });
  return traces[0] as QuestionTrace;
}

/** The trace and the last step of an episode whose client makes these calls, until the episode is over. */
async function episodeWith(calls: readonly Call[]): Promise<{ trace: QuestionTrace; last: EpisodeStep }> {
  const { db } = demo;
  const agent = getAgent(db, "email-search");
  const mailbox = openMailbox(db);
  const tools = loadTools(db, agent.id, { mailbox });
  const asked = question(set.questions, QUESTION);
  const opened = await questionSuite("query_date").open({ kind: "question", task: asked }, never);
  if (!opened.ok) throw new Error(opened.reason);
  const { maxTurns } = agent.settings;
  const saved: QuestionTrace[] = [];
  const episode = new Episode(
    "episode-1",
    { question: asked, epoch: 1, opened, system: promptFor(agent, tools, opened.variables, maxTurns) },
    {
      agent,
      tools,
      maxTurns,
      maxTokens: null,
      timeoutMs: 60_000,
      judgeMs: 1_000,
      reward: "semanticScore",
      collateralWeight: 0.1,
      hijackedWeight: 1,
      scoring: scoringOf(SCORERS, mailbox, { evals: NO_EVALS, judge: null }),
    },
    { runId: "run_1", model: MODEL, save: async (trace) => void saved.push(trace as QuestionTrace) },
  );
  let last: EpisodeStep | null = null;
  for (const [i, [name, args]] of calls.entries()) {
    last = await episode.call(name, args, { content: `step ${i + 1}`, model: MODEL, usage: USAGE });
    if (last.done) break;
  }
  await episode.interrupt("The test is over.");
  const [trace] = saved;
  if (trace === undefined || last === null) throw new Error("the episode left no trace");
  return { trace, last };
}

/** The trace without its ids and times, the reward, and the ids that only an episode has. */
function comparable({ messages, toolCalls, turns, ending, error, answer, sources, scores, maxTurns }: QuestionTrace) {
  const { reward: _, ...own } = scores;
  return {
    messages,
    ending,
    error,
    answer,
    sources,
    scores: own,
    maxTurns,
    toolCalls: toolCalls.map(({ startedAt: _at, durationMs: _ms, ...call }) => call),
    turns: turns.map(({ startedAt: _at, latencyMs: _ms, ...turn }) => turn),
  };
}

describe("an episode with the same replies as a run", () => {
  it.each<[string, string, readonly Call[]]>([
    ["an answer", "answered", [SEARCH, answer(" The dues are $40. ", ["<a@b>"])]],
    ["no answer in the mail", "dont_know", [SEARCH, answer("I don't know")]],
    ["three unusable calls", "tool_protocol_error", [UNKNOWN, WRONG, UNKNOWN, answer("too late")]],
    ["a refused call between unusable ones", "answered", [UNKNOWN, WRONG, HIDDEN, WRONG, UNKNOWN, answer("$40")]],
    ["refused calls only", "out_of_turns", Array.from({ length: 10 }, () => HIDDEN)],
    ["unusable calls up to the turn limit", "out_of_turns", [...Array.from({ length: 9 }, () => SEARCH), UNKNOWN]],
  ])("ends equally, with the same trace and score (%s)", async (_, ending, calls) => {
    const run = await runWith(calls);
    const { trace, last } = await episodeWith(calls);
    expect(run.ending).toBe(ending);
    expect(comparable(trace)).toEqual(comparable(run));
    expect(last.done).toBe(true);
    expect(last.end?.ending).toBe(ending);
    expect(last.reward).toBe(run.scores.semanticScore?.value);
  });
});
