import { createHash } from "node:crypto";
import { z } from "zod";
import type { ChatTrace } from "../../domain/runs/chat.js";
import { traceSchema } from "../../domain/runs/trace.js";
import { ENDINGS, isFailure } from "../../domain/tasks/task-ending.js";
import type { NamedCounts } from "../../statistics/named-counts.js";
import { NO_GOLD } from "../imported-trace.js";
import type { Trajectory } from "./atif-schema.js";
import { toMessages, toToolCalls, toTurns } from "./read-steps.js";

/** A trajectory of another program, which has no gold answer, as a chat. */
export function toTrace(trajectory: Trajectory, lacking: NamedCounts): ChatTrace {
  const { agent, steps, extra } = trajectory;
  const times = steps.flatMap(({ timestamp }) => (Number.isNaN(Date.parse(timestamp ?? "")) ? [] : [timestamp ?? ""]));
  const [startedAt, endedAt] = [times[0], times.at(-1)].map((time) => new Date(time ?? 0).toISOString()) as [
    string,
    string,
  ];
  const turns = toTurns(steps, startedAt);
  const last = steps.findLast(({ source }) => source === "agent");
  const said = last?.tool_calls?.length ? "" : (last?.message ?? "");
  const answer = said.trim() === "" ? null : said;
  const ending = z.enum(ENDINGS).safeParse(extra?.ending).data ?? (answer === null ? "out_of_turns" : "answered");
  const traceId = trajectory.trajectory_id || `trace_${digestOf(trajectory)}`;
  lacking.add(NO_GOLD);
  if (times.length === 0) lacking.add("no times");
  if (turns.length > 0) lacking.add("no durations of calls");
  if (turns.every(({ usage }) => usage === null)) lacking.add("no tokens");
  return {
    traceId,
    sessionId: trajectory.session_id || `session_${traceId}`,
    agentId: agent.name || "agent",
    model: agent.model_name || turns.find(({ model }) => model !== undefined)?.model || "unknown",
    ...{ startedAt, endedAt, durationMs: Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) },
    ...{ ending, error: isFailure(ending) ? ending : null },
    messages: toMessages(steps),
    toolCalls: toToolCalls(steps, startedAt),
    ...{ turns, maxTurns: turns.length, answer: isFailure(ending) ? null : answer, sources: [] },
    scores: traceSchema.shape.scores.safeParse(extra?.scores).data ?? {},
    agentVersion: agentVersionOf(trajectory) ?? 0,
    question: steps.find(({ source }) => source === "user")?.message ?? "",
    ...{ inbox: null, queryDate: null, historyLength: 0 },
  };
}

/** Undefined where its version is no number, as ours are. */
export function agentVersionOf({ agent: { version } }: Trajectory): number | undefined {
  return /^\d{1,9}$/.test(version) ? Number(version) : undefined;
}

function digestOf(trajectory: Trajectory): string {
  return createHash("sha256").update(JSON.stringify(trajectory)).digest("hex").slice(0, 32);
}
