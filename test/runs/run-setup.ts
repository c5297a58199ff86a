import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Agent } from "../../src/agents/agent.js";
import { getAgent } from "../../src/agents/registry-store.js";
import { NO_EVALS } from "../../src/evals/scoring-evals.js";
import { openMailLookup } from "../../src/mail/mail-lookup.js";
import { withPrices } from "../../src/models/call-cost.js";
import type { Completion, Model } from "../../src/models/model.js";
import { parseModelName } from "../../src/models/model-names.js";
import { resolveModel } from "../../src/models/open-model.js";
import { priceOf } from "../../src/models/price-lookup.js";
import { NO_USAGE } from "../../src/models/usage.js";
import { definedProperties } from "../../src/platform/optional-values.js";
import { questionSuite } from "../../src/questions/dataset.js";
import { type AnswerContext, answerHere } from "../../src/runs/answer-task.js";
import { Budget, mostOfTask } from "../../src/runs/budget.js";
import { createRun, type RunSession } from "../../src/runs/create-run.js";
import { ServerWatch } from "../../src/runs/detect-dead-server.js";
import { resumeRun } from "../../src/runs/resume-run.js";
import { RunJournal, sendersOf } from "../../src/runs/run-journal.js";
import { type RunTasksRequest, runTasks, type SessionEnd, type TaskSteering } from "../../src/runs/run-tasks.js";
import { RESULT_FILE_SCORERS, type ScorerName } from "../../src/scoring/scorers.js";
import type { Db } from "../../src/store/open-store.js";
import { WAIT_INDEFINITELY } from "../../src/store/write-transaction.js";
import type { Question, QuestionSet } from "../../src/tasks/question.js";
import { loadTools, toolsDigest } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { plantingOf } from "../../src/tools/plant-in-task.js";
import type { Tool } from "../../src/tools/tool.js";
import type { Judge } from "../../src/traces/judgment.js";
import type { RunEvent } from "../../src/traces/progress.js";
import { openJournalWriter, openRowWriter, type ResultWriter, toResultRow } from "../../src/traces/result-writer.js";
import { attemptPages, iterateResults } from "../../src/traces/results-store.js";
import type { RunOwner } from "../../src/traces/run-lock.js";
import { NO_LIMITS, type OwnRunSettings, type RunLimits } from "../../src/traces/run-settings.js";
import { getRun, type RunRow } from "../../src/traces/runs-store.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import { type QuestionTrace as Trace, traceSchema } from "../../src/traces/trace.js";
import { iterateTraces } from "../../src/traces/traces-store.js";
import type { WireFormat } from "../providers/wire-request.js";
import { SETTINGS } from "../traces/saved-runs.js";
import { never } from "./demo-setup.js";

/** An entire run like the program's own, and all its output. */

export interface Wanted {
  readonly model: Model;
  readonly set: QuestionSet;
  /** Default: all questions of the set. */
  readonly questions?: readonly Question[];
  readonly agentId?: string;
  readonly tools?: readonly Tool[];
  readonly cutoff?: "query_date" | "off";
  readonly concurrency?: number;
  readonly taskTimeoutMs?: number;
  readonly epochs?: number;
  readonly scorers?: readonly ScorerName[];
  readonly judge?: Judge;
  readonly perturb?: Pick<OwnRunSettings, "perturbation" | "attackKinds">;
  readonly limits?: Partial<RunLimits>;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: RunEvent) => void;
}

export interface Saved {
  readonly run: RunRow;
  readonly results: readonly TaskResult[];
  readonly traces: readonly Trace[];
}

export interface Finished extends Saved, SessionEnd {
  readonly events: readonly RunEvent[];
}

export const WORKER: RunOwner = { name: "here:1", isGone: () => false };

export async function benchmark(db: Db, wanted: Wanted): Promise<Finished> {
  const runId = `run_${randomUUID()}`;
  const { set, questions = set.questions, epochs = 1 } = wanted;
  const tasks = Array.from({ length: epochs }, (_, i) =>
    questions.map((question) => ({ kind: "question" as const, task: question, epoch: i + 1 })),
  );
  const settings = settingsOf(db, wanted);
  const session = await createRun(db, { runId, set, tasks: tasks.flat(), settings, worker: WORKER });
  return answerAll(db, wanted, runId, session);
}

/** Resumes the run: its missing tasks and, if requested, the failed ones. */
export async function resumed(db: Db, wanted: Wanted, runId: string, retryFailed = false): Promise<Finished> {
  const run = getRun(db, runId);
  const session = await resumeRun(db, run, { settings: run.settings, retryFailed, worker: WORKER });
  return answerAll(db, wanted, runId, session);
}

const UNSTEERED: TaskSteering = {
  isPaused: false,
  nextRequeued: () => null,
  beforeRequeue() {},
  onChange() {},
  async close() {},
};

async function answerAll(db: Db, wanted: Wanted, runId: string, session: RunSession): Promise<Finished> {
  const { concurrency = 4 } = wanted;
  const first = mostOfTask(settingsOf(db, wanted), (usage) => priceOf(wanted.model.id, usage));
  const budget = new Budget({ ...NO_LIMITS, ...wanted.limits }, first, 0);
  for (const { result, isSuperseded } of [...attemptPages(db, runId)].flat()) budget.charge(result, isSuperseded);
  const events: RunEvent[] = [];
  const emit = (event: RunEvent) => {
    events.push(event);
    wanted.onEvent?.(event);
  };
  const shared = answering(db, wanted, runId);
  const writer = writerTo(db);
  const journal = new RunJournal(db, runId, writer, sendersOf(settingsOf(db, wanted)));
  for (const cost of journal.costs) budget.charge(cost, true);
  const request: RunTasksRequest = {
    answerer: answerHere(shared, new ServerWatch()),
    scoring: shared.scoring,
    session,
    until: null,
    onConcurrency: (listener) => listener(concurrency),
    windDown: never,
    steering: UNSTEERED,
  };
  const services = { db, runId, budget, journal, writer, waiting: WAIT_INDEFINITELY };
  const end = await runTasks(services, request, emit, wanted.signal ?? never);
  return { ...end, events, ...saved(db, runId) };
}

/** Writes on this thread, one transaction per task. */
function writerTo(db: Db): ResultWriter {
  const write = openRowWriter(db);
  const writeReply = openJournalWriter(db);
  return {
    async save(trace, result, abandoned) {
      write(toResultRow(trace, result, abandoned));
      return true;
    },
    async addReply(row) {
      writeReply(row);
    },
    keep() {},
    recent: () => [],
    close: async () => {},
  };
}

/** Every trace is checked against its schema, because saved traces must be readable. */
export function saved(db: Db, runId = "latest"): Saved {
  const run = getRun(db, runId);
  const traces = [...iterateTraces(db, { runId: run.id })].map((trace) => traceSchema.parse(trace));
  return { run, results: [...iterateResults(db, run.id)], traces };
}

function toolsOf(db: Db, wanted: Wanted): readonly Tool[] {
  return wanted.tools ?? loadTools(db, agentOf(db, wanted).id, { mailbox: openMailbox(db) });
}

const agentOf = (db: Db, wanted: Wanted): Agent => getAgent(db, wanted.agentId ?? "email-search");

function answering(db: Db, wanted: Wanted, runId: string): AnswerContext {
  const { model, cutoff = "query_date", taskTimeoutMs = 60_000 } = wanted;
  return {
    runId,
    agent: agentOf(db, wanted),
    model: withPrices(model, (usage) => priceOf(model.id, usage)),
    priceOf: (usage) => priceOf(model.id, usage),
    tools: toolsOf(db, wanted),
    suite: questionSuite(cutoff),
    ...definedProperties({ plant: plantingOf({ ...wanted.perturb }, model.id, openMailbox(db)) }),
    taskTimeoutMs: () => taskTimeoutMs,
    limits: { maxTaskCostUsd: null },
    scoring: {
      sameMail: openMailLookup(db).canonicalId,
      scorers: wanted.scorers ?? RESULT_FILE_SCORERS,
      evals: NO_EVALS,
      functions: [],
      judge: wanted.judge ?? null,
    },
  };
}

export function settingsOf(db: Db, wanted: Wanted): OwnRunSettings {
  const agent = agentOf(db, wanted);
  const { maxTurns, maxTokens, temperature, toolCalls, toolChoice, toolResults } = agent.settings;
  return {
    ...SETTINGS,
    agentId: agent.id,
    model: wanted.model.id,
    prompt: agent.prompt,
    tools: toolsOf(db, wanted).map((tool) => tool.id),
    toolsDigest: toolsDigest(db, agent.id),
    maxTurns,
    maxTokens,
    temperature: temperature ?? null,
    toolCalls,
    toolChoice,
    toolResults,
    cutoff: wanted.cutoff ?? "query_date",
    taskTimeoutMs: wanted.taskTimeoutMs ?? 60_000,
    scorers: wanted.scorers ?? RESULT_FILE_SCORERS,
    judge: wanted.judge?.settings ?? null,
    concurrency: wanted.concurrency ?? 4,
    epochs: wanted.epochs ?? 1,
    selection: {},
  };
}

export const baseline = (): Promise<Model> =>
  resolveModel(parseModelName("offline/baseline", null), {
    apiKey: null,
    baseUrl: null,
    wireApi: null,
    timeoutMs: 60_000,
  });

export const REPLY: Completion = {
  content: "an answer",
  toolCalls: [],
  finishReason: "stop",
  rawFinishReason: "stop",
  usage: NO_USAGE,
  latencyMs: 0,
  retries: [],
};

/** A model that takes longer per reply than saving a finished task. */
export function unhurried({ id, complete }: Model): Model {
  return {
    id,
    async complete(request, signal) {
      await delay(3);
      return complete(request, signal);
    },
  };
}

/** Models with known prices, each over one wire format. */
export const REMOTE: Readonly<Record<WireFormat, string>> = {
  anthropic: "anthropic/claude-sonnet-4-5",
  "openai-chat": "openai/gpt-4.1",
  "openai-responses": "openai/gpt-4.1",
  google: "google/gemini-2.5-pro",
};

export function remote(format: WireFormat, baseUrl: string, attempts = 1): Promise<Model> {
  const wireApi = format === "openai-chat" ? "chat" : format === "openai-responses" ? "responses" : null;
  const policy = { attempts, baseMs: 1, maxMs: 2, totalMs: 60_000, random: () => 0.5 };
  return resolveModel(
    parseModelName(REMOTE[format], null),
    { apiKey: "test-key", baseUrl, wireApi, timeoutMs: 30_000 },
    policy,
  );
}

/** The parts of a result that must not depend on repetition or concurrency. */
export function answersOf({ results, traces }: Saved): string {
  const kept = results.map(
    ({ executionTimeMs: _, traceId: __, modelTimeMs: _m, toolTimeMs: _t, waitingTimeMs: _w, ...result }) => result,
  );
  const said = traces.map((trace) => [
    trace.messages,
    trace.toolCalls.map(({ startedAt: _, durationMs: __, ...call }) => call),
  ]);
  return JSON.stringify([kept, said]);
}
