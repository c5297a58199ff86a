import type { Message } from "../../domain/models/conversation.js";
import type { QuestionTrace } from "../../domain/runs/trace.js";
import type { Question } from "../../domain/tasks/question.js";
import { type Ending, isFailure } from "../../domain/tasks/task-ending.js";
import type { NamedCounts } from "../../statistics/named-counts.js";
import { type ImportedTrace, NO_GOLD } from "../imported-trace.js";
import { textOfContent } from "../text-of-content.js";
import type { LogHeader, Sample } from "./log-schema.js";
import { agentEvents, toToolCall, toTurn } from "./read-events.js";
import { toMessages } from "./read-messages.js";
import { toScores } from "./read-scores.js";
import { isoTime, msBetween, msOf } from "./sample-times.js";
import type { TaskNumbers } from "./task-numbers.js";

/** A sample of another program: of a task where it has a target, else of a chat. */
export function toTrace(sample: Sample, header: LogHeader, numbers: TaskNumbers, lacking: NamedCounts): ImportedTrace {
  const fields = fieldsOf(sample, header, lacking);
  const { id, epoch, metadata, target } = sample;
  const question = questionAsked(sample, fields.messages);
  const gold = typeof target === "string" ? target : target.join(", ");
  const [inbox, day] = [textIn(metadata, "inbox", "inbox_address"), textIn(metadata, "query_date")];
  const queryDate = day !== null && /^\d{4}-\d{2}-\d{2}/.test(day) ? day.slice(0, 10) : null;
  if (fields.messages.length === 0) lacking.add("no messages");
  if (fields.turns.length === 0) lacking.add("no model calls");
  if (gold.trim() === "" || question === "") {
    lacking.add(NO_GOLD);
    return { ...fields, agentVersion: 0, question, inbox, queryDate, historyLength: 0 };
  }
  if (inbox === null) lacking.add(`no mailbox, which is called ${NO_INBOX}`);
  if (queryDate === null) lacking.add("no day of the question, for which that of the sample stands");
  const task: Question = {
    ...{ id: numbers.of(id), question, answer: gold, message_ids: textsIn(metadata, "gold_sources"), how_realistic: 1 },
    ...{
      inbox_address: (inbox ?? NO_INBOX).trim().toLowerCase(),
      query_date: queryDate ?? fields.startedAt.slice(0, 10),
    },
  };
  if (String(task.id) !== String(id)) lacking.add("no number as their id, so they are numbered");
  const runId = header.eval.eval_id || header.eval.run_id || `${header.eval.task}_${header.eval.created}`;
  return { ...fields, runId, taskId: task.id, epoch, task, judge: null };
}

const NO_INBOX = "unknown";

type Fields = Omit<QuestionTrace, "runId" | "taskId" | "epoch" | "task" | "judge">;

function fieldsOf(sample: Sample, header: LogHeader, lacking: NamedCounts): Fields {
  const { eval: spec } = header;
  const { models, tools } = agentEvents(sample.events);
  const startedAt = isoTime(sample.started_at ?? models[0]?.timestamp ?? spec.created) ?? new Date(0).toISOString();
  const durationMs = msOf(sample.total_time) ?? msBetween(startedAt, sample.completed_at);
  const turns = models.map((event) => toTurn(event, startedAt));
  const messages = toMessages(sample.messages);
  const answer = answerOf(sample, messages);
  const traceId = `trace_${sample.uuid || `${spec.eval_id ?? spec.task}_${sample.id}_${sample.epoch}`}`;
  const agentId = spec.solver || spec.task || "agent";
  return {
    ...{ traceId, sessionId: traceId.replace("trace_", "session_"), agentId, model: spec.model, startedAt },
    endedAt: isoTime(sample.completed_at) ?? new Date(Date.parse(startedAt) + durationMs).toISOString(),
    durationMs,
    ending: endingOf(sample, answer),
    error: sample.error?.message ?? null,
    messages,
    toolCalls: tools.map((event) => toToolCall(event, turns, startedAt)),
    turns,
    maxTurns: wholeNumber(spec.config.turn_limit) ?? turns.length,
    answer: isFailure(endingOf(sample, answer)) ? null : answer,
    sources: textsIn(sample.metadata, "sources"),
    scores: toScores(sample.scores, lacking),
  };
}

function questionAsked({ input }: Sample, messages: readonly Message[]): string {
  if (typeof input === "string") return input;
  const asked = input.findLast(({ role }) => role === "user");
  if (asked !== undefined) return textOfContent(asked.content);
  return messages.find(({ role }) => role === "user")?.content ?? "";
}

function answerOf({ output }: Sample, messages: readonly Message[]): string | null {
  const said = output?.completion || messages.findLast(({ role }) => role === "assistant")?.content || "";
  return said.trim() === "" ? null : said;
}

const LIMITS: Readonly<Record<string, Ending>> = {
  time: "timeout",
  working: "timeout",
  token: "out_of_budget",
  cost: "out_of_budget",
  operator: "interrupted",
};

function endingOf({ error, limit }: Sample, answer: string | null): Ending {
  if (error != null) return "model_error";
  if (limit != null) return LIMITS[limit.type] ?? "out_of_turns";
  return answer === null ? "out_of_turns" : "answered";
}

function textIn(metadata: Sample["metadata"], ...keys: readonly string[]): string | null {
  const texts = keys.map((key) => metadata?.[key]).filter((value) => typeof value === "string" && value.trim() !== "");
  return (texts[0] as string | undefined) ?? null;
}

function textsIn(metadata: Sample["metadata"], key: string): string[] {
  const value = metadata?.[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function wholeNumber(value: unknown): number | null {
  return Number.isSafeInteger(value) ? Number(value) : null;
}
