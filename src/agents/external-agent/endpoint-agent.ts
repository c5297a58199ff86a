// An external agent behind an OpenAI-compatible endpoint: one chat completion request per question.
import { completeChat } from "../../models/agent-requests.js";
import { chargeOf } from "../../models/call-cost.js";
import { chatUrl, type Endpoint, secretsOf } from "../../models/endpoint.js";
import { withBilled } from "../../models/http-attempt.js";
import { ModelError } from "../../models/model.js";
import { NO_EXTRAS, withExtraBody } from "../../models/request-extras.js";
import { separateReasoning } from "../../models/unparsed-text.js";
import type { Usage } from "../../models/usage.js";
import { definedProperties } from "../../platform/optional-values.js";
import { redact } from "../../platform/secrets.js";
import { type AgentBackend, type AgentTask, mailboxOf } from "../agent-backend.js";
import { readAnswer } from "../rollout/answer-text.js";
import { refusalReason, rolloutOf } from "../rollout.js";
import type { Charging } from "./record-exchange.js";

/** An agent that an OpenAI-compatible server offers as a model. It runs its own tools. */
interface EndpointAgent extends Charging {
  readonly name: string;
  readonly endpoint: Endpoint;
}

/**
 * Sends one chat completion request per question. The system message and `metadata` contain the mailbox and day, and
 * the user message is the question. The answer is the reply's text, or the `{"answer", "sources"}` JSON in it.
 */
export function endpointAgent({ name, endpoint, priceOf, noteAll }: EndpointAgent): AgentBackend {
  const url = chatUrl(endpoint);
  const { extras = NO_EXTRAS } = endpoint;
  return {
    async answer(task, transcript) {
      const { signal } = task.context;
      const body = withExtraBody(toBody(name, task), extras.body);
      transcript.messages.push(
        { role: "system", content: body.messages[0].content },
        { role: "user", content: task.instruction },
      );
      const startedAt = new Date().toISOString();
      const began = performance.now();
      let billed: { usage: Usage | null; costUsd: number | null } | null = null;
      try {
        const reply = await completeChat(url, endpoint, body, signal, (reported) => {
          const { usage, costUsd, notes } = chargeOf(reported, priceOf);
          billed = { usage, costUsd };
          noteAll([...(reported.notes ?? []), ...notes]);
        });
        const { rawFinishReason, finishReason, model, responseId } = reply;
        const { text, reasoning } = separateReasoning(reply.content);
        if (reply.toolCalls.length > 0 && text === "") throw toolCallRequested();
        const content = redact(text, secretsOf(endpoint));
        const thought = reasoning === "" ? {} : { reasoning: redact(reasoning, secretsOf(endpoint)) };
        transcript.messages.push({ role: "assistant", content, toolCalls: [], ...thought });
        transcript.turns.push({
          startedAt,
          ...definedProperties({ model, responseId }),
          latencyMs: performance.now() - began,
          finishReason,
          rawFinishReason,
          ...(billed ?? NOT_BILLED),
          retries: [],
          cached: false,
        });
        if (finishReason === "refusal") {
          const reason = refusalReason({ rawFinishReason, content });
          return { ...transcript, ending: "refused", answer: null, sources: [], reason };
        }
        const { answer, sources } = readAnswer(content);
        const rollout = rolloutOf(transcript, answer, sources);
        if (finishReason !== "length") return rollout;
        noteAll([`answers are cut off (finish reason "${rawFinishReason}"). Raise the agent's token limit.`]);
        return { ...rollout, reason: `The answer was cut off (finish reason "${rawFinishReason}").` };
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw withBilled(error, billed);
      }
    },
  };
}

function toBody(name: string, task: AgentTask) {
  const { id, epoch, instruction } = task;
  const { inbox_address, query_date } = mailboxOf(task);
  const system = [
    `Answer a question of the owner of the mailbox ${inbox_address}, from the mail in that mailbox. Today is ${query_date}; there is no later mail.`,
    'Answer shortly and completely, as JSON {"answer": "…", "sources": ["<message-id>", …]} or in plain text. If the mailbox does not hold the answer, answer "I don\'t know".',
  ].join("\n");
  return {
    model: name,
    messages: [
      { role: "system", content: system },
      { role: "user", content: instruction },
    ] as const,
    metadata: { task_id: String(id), epoch: String(epoch), inbox_address, query_date },
  };
}

const NOT_BILLED = { usage: null, costUsd: null };

function toolCallRequested(): ModelError {
  const message = "it requested a tool call, but an external agent must run its own tools";
  return new ModelError("protocol", message, { retryable: false });
}
