import type { Message } from "../../src/models/model.js";
import type { Db } from "../../src/store/open-store.js";
import { type Ending, isFailure } from "../../src/tasks/ending.js";
import type { Question } from "../../src/tasks/question.js";
import { openRowWriter, toResultRow } from "../../src/traces/result-writer.js";
import { saveTasks } from "../../src/traces/results-store.js";
import { finishRun, insertRun } from "../../src/traces/runs-store.js";
import { toTaskResult } from "../../src/traces/task-result.js";
import type { ToolCallRecord, QuestionTrace as Trace, Turn } from "../../src/traces/trace.js";
import { below, seeded } from "../random.js";
import { SETTINGS } from "../traces/saved-runs.js";

/** Synthetic runs of any size, the same for the same seed, saved like real runs. */

export interface SyntheticRun {
  readonly id: string;
  readonly tasks: number;
  readonly epochs?: number;
  readonly agentId?: string;
  readonly model?: string;
  /** Probability of a right answer. */
  readonly skill?: number;
  /** US dollars per turn. */
  readonly price?: number;
  /** Characters in the body of each email. */
  readonly mailLength?: number;
  /** Changes a task before it is saved. */
  readonly change?: (trace: Trace) => Trace;
}

const INBOXES = ["karen", "john", "paul", "sarah", "greg", "james", "sara", "tim"].map(
  (name) => `${name}@plains.example`,
);
const WORDS = "gas meeting contract price March volume index swing meter annex council draft legal call rate".split(
  " ",
);

export function saveSynthetic(db: Db, run: SyntheticRun): void {
  const random = seeded([...run.id].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7));
  const { agentId = "email-search", model = "synthetic/model", epochs = 1 } = run;
  const questions = Array.from({ length: run.tasks }, (_, i) => syntheticQuestion(i + 1));
  const set = {
    source: "synthetic.jsonl",
    revision: null,
    sha256: `${run.tasks}`.padEnd(64, "f"),
    split: "test",
  } as const;
  insertRun(db, {
    id: run.id,
    agentId,
    model,
    split: "test",
    settings: SETTINGS,
    corpusFingerprint: "f".repeat(64),
    datasetId: saveTasks(
      db,
      set,
      questions.map((task) => ({ kind: "question", task })),
    ),
    source: set.source,
    revision: null,
    totalTasks: run.tasks * epochs,
    startedAt: "2026-01-01T00:00:00.000Z",
  });
  const save = openRowWriter(db);
  db.transaction(() => {
    for (const question of questions) {
      for (let epoch = 1; epoch <= epochs; epoch++) {
        const first = syntheticTrace(run, { agentId, model }, question, random);
        const made = epoch === 1 ? first : { ...first, epoch, traceId: `${first.traceId}_${epoch}` };
        const trace = run.change?.(made) ?? made;
        save(toResultRow(trace, toTaskResult(trace)));
      }
    }
  })();
  finishRun(db, run.id, "completed", "2026-01-01T01:00:00.000Z", 3_600_000);
}

function syntheticQuestion(id: number): Question {
  const random = seeded(id);
  const word = () => WORDS[below(random, WORDS.length)] ?? "";
  return {
    id,
    question: `What ${word()} ${word()} did I agree with ${word()} ${id}?`,
    answer: `${word()} ${below(random, 10_000)}`,
    message_ids: Array.from({ length: random() < 0.8 ? 1 : 2 }, (_, i) => `<${id}.${i}@plains.example>`),
    how_realistic: 0.5 + below(random, 6) / 10,
    inbox_address: INBOXES[below(random, INBOXES.length)] ?? "",
    query_date: `${2000 + below(random, 3)}-0${1 + below(random, 9)}-11`,
  };
}

function syntheticTrace(
  { id: runId, skill = 0.6, price = 0.002, mailLength = 400 }: SyntheticRun,
  { agentId, model }: { readonly agentId: string; readonly model: string },
  task: Question,
  random: () => number,
): Trace {
  const ending = endingOf(random());
  const failed = isFailure(ending);
  const answered = ending === "answered";
  const found = random() < 0.6 + skill * 0.35;
  const read = found && random() < 0.92;
  const right = answered && read && random() < skill;
  const score = right ? 0.85 + below(random, 16) / 100 : answered ? below(random, 70) / 100 : 0;
  const count = failed ? 1 : 2 + below(random, 8);
  const messageId = read ? (task.message_ids[0] ?? "") : `<other.${task.id}@plains.example>`;
  const searched = { query: task.question, inbox_id: task.inbox_address };
  const hit = {
    message_id: messageId,
    subject: "Re: terms",
    sender: "kim@plains.example",
    date: "2000-01-02T03:04:05Z",
  };
  const body = `Hello,\n\n${Array.from({ length: Math.ceil(mailLength / 6) }, () => WORDS[below(random, WORDS.length)]).join(" ")}`;
  const messages: Message[] = [
    { role: "system", content: `You search ${task.inbox_address}.` },
    { role: "user", content: task.question },
    { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "email_search", arguments: searched }] },
    {
      role: "assistant",
      content: "",
      toolCalls: [{ id: "c2", name: "email_get", arguments: { message_id: messageId } }],
    },
  ];
  const toolCalls = [
    call("c1", "email_search", 0, searched, { emails: [{ ...hit, snippet: body.slice(0, 90) }], total: 1 }),
    call("c2", "email_get", 1, { message_id: messageId }, { ...hit, to: [task.inbox_address], cc: [], bcc: [], body }),
  ];
  const scored = {
    exactMatch: { value: right && random() < 0.3 ? 1 : 0 },
    semanticScore: { value: score },
    sourcesCorrect: { value: read && answered ? 1 : 0 },
    foundGold: { value: found ? 1 : 0 },
    readGold: { value: read ? 1 : 0 },
  };
  return {
    kind: "question" as const,
    traceId: `trace_${runId}_${task.id}`,
    sessionId: "session_1",
    runId,
    taskId: task.id,
    epoch: 1,
    agentId,
    model,
    startedAt: "2026-01-01T00:00:00.000Z",
    endedAt: "2026-01-01T00:00:05.000Z",
    durationMs: Math.round(count * 400 * (0.5 + random())),
    ending,
    error: failed ? "503 from the server: overloaded" : null,
    messages: failed ? messages.slice(0, 2) : messages,
    toolCalls: failed ? [] : toolCalls,
    turns: Array.from({ length: count }, () => turn(price)),
    maxTurns: 10,
    answer: answered ? `${right ? task.answer : "something else"}, as far as I can see` : null,
    sources: answered ? [messageId] : [],
    scores: failed ? {} : scored,
    judge: null,
    task,
  };
}

function endingOf(chance: number): Ending {
  if (chance < 0.86) return "answered";
  if (chance < 0.92) return "dont_know";
  if (chance < 0.97) return "out_of_turns";
  return chance < 0.99 ? "model_error" : "timeout";
}

function call(
  id: string,
  name: string,
  turnIndex: number,
  given: ToolCallRecord["arguments"],
  result: ToolCallRecord["result"],
): ToolCallRecord {
  const times = { startedAt: "2026-01-01T00:00:01.000Z", durationMs: 3 };
  return { id, name, arguments: given, result, error: null, errorKind: null, turn: turnIndex, ...times };
}

function turn(costUsd: number): Turn {
  return {
    startedAt: "2026-01-01T00:00:00.000Z",
    latencyMs: 400,
    finishReason: "tool_calls",
    rawFinishReason: "tool_use",
    usage: { inputTokens: 900, outputTokens: 60, cachedInputTokens: 0 },
    costUsd,
    retries: [],
    cached: false,
  };
}
