// Repeats the question of a stored trace as a chat: with its agent version, settings, model and model server. The
// answer is scored like the original one.
import type { Agent } from "../../agents/agent.js";
import { getAgent, getVersion } from "../../agents/registry-store.js";
import type { ScoringEvals } from "../../evals/scoring-evals.js";
import { NEVER } from "../../platform/deadline.js";
import { UserError } from "../../platform/errors.js";
import { definedProperties } from "../../platform/optional-values.js";
import { scoringOf, withScores } from "../../runs/score-traces.js";
import { agentOf } from "../../runs/settings-from-options.js";
import type { Db } from "../../store/open-store.js";
import { openMailbox } from "../../tools/mailbox.js";
import type { AttachedTool } from "../../tools/tools-store.js";
import { getRun } from "../../traces/runs-store.js";
import type { ChatTrace, QuestionTrace } from "../../traces/trace.js";
import { getTrace } from "../../traces/traces-store.js";
import type { RecordedServer } from "./chat-models.js";

export interface RepeatedTask {
  readonly trace: QuestionTrace | ChatTrace;
  readonly agent: Agent;
  readonly agentVersion: number;
  readonly tools: readonly AttachedTool[];
  readonly model: string;
  /** Null for a chat, which used the model server of its own server. */
  readonly modelServer: RecordedServer | null;
}

/** Returns the recorded agent and model of a trace. Throws a UserError if art-e's agent loop did not produce it. */
export function repeatedTask(db: Db, traceId: string): RepeatedTask {
  const trace = getTrace(db, traceId);
  if (trace.kind === "chat") {
    const { agentId, agentVersion, model, maxTurns } = trace;
    getAgent(db, agentId);
    const { agent, tools } = getVersion(db, agentId, agentVersion);
    const settings = { ...agent.settings, maxTurns };
    return { trace, agent: { ...agent, settings }, agentVersion, tools, model, modelServer: null };
  }
  const { settings } = getRun(db, trace.runId);
  if (trace.kind === "suite" || settings.kind !== "own") {
    const why = trace.kind === "suite" ? "It needs a task machine." : "Another program produced its answer.";
    throw new UserError("trace_not_repeatable", `This task cannot be repeated in the playground. ${why}`, "");
  }
  const { agentId, agentVersion, model, baseUrl, wireApi } = settings;
  getAgent(db, agentId);
  const { tools } = getVersion(db, agentId, agentVersion);
  return { trace, agent: agentOf(settings), agentVersion, tools, model, modelServer: { baseUrl, wireApi } };
}

/**
 * Scores a chat with the gold answer of the task that it repeats, and the scorers of its run, except for the judge,
 * which would cost a model call. Returns null if the chat asks something else.
 */
export async function scoreRepeatedTask(
  db: Db,
  chat: ChatTrace,
  { trace }: Pick<RepeatedTask, "trace">,
  evals: ScoringEvals,
): Promise<ChatTrace | null> {
  if (trace.kind !== "question" || chat.question !== trace.task.question || chat.historyLength > 0) return null;
  const { kind: _, agentVersion: _version, question: _question, inbox: _inbox, queryDate: _date, ...attempt } = chat;
  const { attack: _attack, actions: _actions, selection: _selection, ...original } = trace;
  const { historyLength: _length, repeats: _repeats, actions, ...given } = attempt;
  const answered: QuestionTrace = { ...original, ...given, judge: null, ...definedProperties({ actions }) };
  const scoring = scoringOf(getRun(db, trace.runId).settings.scorers, openMailbox(db), { evals, judge: null });
  const [scored] = await withScores([answered], scoring, NEVER);
  return { ...chat, scores: scored?.scores ?? {} };
}
