import { type AgentBackend, type AgentTask, mailboxOf } from "../../domain/agents/agent-backend.js";
import { ModelError } from "../../domain/models/model.js";
import { toModelError } from "../../models/http/provider-errors.js";
import { readServerSentEvents } from "../../models/http/sse-client.js";
import { readEvent } from "./playground-protocol.js";
import { PlaygroundReader } from "./playground-reader.js";

/** An agent behind the playground API, and how to call it. */
export interface PlaygroundAgent {
  /** Without `/api` and without a trailing slash. */
  readonly apiUrl: string;
  readonly workspace: string | null;
  readonly agentId: string;
  /** Overrides the agent's own model; null: no override. */
  readonly model: { readonly provider: string; readonly id: string } | null;
  /** Also puts mailbox and day into the question, for prompts without `{{inbox_address}}` and `{{query_date}}`. */
  readonly tellTask: boolean;
  /** Bearer token; empty if none is required. */
  readonly token: string;
  readonly idleMs: number;
}

/**
 * `POST /api/agents/:id/playground/chat`, one conversation with one message per question. Mailbox, day and turn limit
 * travel as `variables`. An error, a recoverable error and a stream without `[DONE]` are failures.
 */
export function playgroundAgent(agent: PlaygroundAgent): AgentBackend {
  const url = `${agent.apiUrl}/api/agents/${encodeURIComponent(agent.agentId)}/playground/chat`;
  const headers: Record<string, string> = {
    ...(agent.workspace === null ? {} : { "x-workspace-id": agent.workspace }),
    ...(agent.token === "" ? {} : { authorization: `Bearer ${agent.token}` }),
  };
  return {
    async answer(task, transcript) {
      const content = questionText(task, agent.tellTask);
      transcript.messages.push({ role: "user", content });
      const reader = new PlaygroundReader(transcript, [agent.token]);
      const streamRequest = {
        url,
        headers,
        body: toBody(agent, task, content),
        idleMs: agent.idleMs,
        apiKey: agent.token,
      };
      try {
        for await (const data of readServerSentEvents(streamRequest, task.context.signal)) {
          if (data.trim() === "[DONE]") return reader.end();
          const event = readEvent(data);
          if (event !== null) reader.take(event);
        }
        throw new ModelError("protocol", "the stream ended without [DONE]", { retryable: true });
      } catch (error) {
        reader.endTurn();
        if (task.context.signal.aborted) throw task.context.signal.reason;
        throw toModelError(error, agent.token);
      }
    },
  };
}

function toBody({ model }: PlaygroundAgent, { variables, maxTurns }: AgentTask, content: string) {
  return {
    messages: [{ role: "user", content }],
    variables: { ...variables, max_turns: String(maxTurns) },
    ...(model === null ? {} : { modelProvider: model.provider, modelId: model.id }),
  };
}

function questionText(task: AgentTask, tellTask: boolean): string {
  if (!tellTask) return task.instruction;
  const { inbox_address, query_date } = mailboxOf(task);
  return `The mailbox is ${inbox_address}. Today is ${query_date}.\n\n${task.instruction}`;
}
