import { z } from "zod";
import { chargeOf } from "../../models/call-cost.js";
import {
  chatContentSchema,
  chatUrl,
  type Endpoint,
  failureInReply,
  openaiHeaders,
  secretsOf,
} from "../../models/endpoint.js";
import { finishReasonOf } from "../../models/finish-reasons.js";
import { withBilled } from "../../models/http-attempt.js";
import { ModelError, type Usage } from "../../models/model.js";
import { toModelError } from "../../models/provider-errors.js";
import { jsonBytes, jsonHeaders, postJson } from "../../models/provider-http.js";
import { modelNameSchema, responseIdSchema } from "../../models/reply-fields.js";
import { separateReasoning } from "../../models/reply-text.js";
import { reportedUsage } from "../../models/reported-usage.js";
import { NO_EXTRAS, withExtraBody } from "../../models/request-extras.js";
import { redact } from "../../platform/secrets.js";
import { type AgentBackend, type AgentTask, mailboxOf } from "../agent-backend.js";
import { readAnswer, refusalReason, rolloutOf } from "../rollout.js";

/** An agent that an OpenAI-compatible server offers as a model. It runs its own tools. */
interface EndpointAgent {
  readonly name: string;
  readonly endpoint: Endpoint;
  priceOf(usage: Usage): number | null;
}

const replySchema = z.object({
  model: modelNameSchema,
  id: responseIdSchema,
  choices: z.tuple(
    [
      z.object({
        message: z.looseObject({
          content: chatContentSchema.nullish(),
          refusal: z.string().nullish(),
          tool_calls: z.array(z.unknown()).nullish(),
        }),
        finish_reason: z.string().nullish(),
      }),
    ],
    z.unknown(),
  ),
});

/**
 * Sends one chat completion request per question. The system message and `metadata` contain the mailbox and day, and
 * the user message is the question. The answer is the reply's text, or the `{"answer", "sources"}` JSON in it.
 */
export function endpointAgent({ name, endpoint, priceOf }: EndpointAgent): AgentBackend {
  const url = chatUrl(endpoint);
  const { extras = NO_EXTRAS } = endpoint;
  const headers = jsonHeaders(openaiHeaders(endpoint), extras.headers);
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
        const reply = await postJson(url, headers, jsonBytes(body), { signal, timeoutMs: endpoint.timeoutMs });
        const { usage, costUsd } = chargeOf(reportedUsage(reply), priceOf);
        billed = { usage, costUsd };
        const { rawFinishReason, finishReason, named, reasoning, ...answerParts } = readReply(reply.body);
        const content = redact(answerParts.content, secretsOf(endpoint));
        const thought = reasoning === "" ? {} : { reasoning: redact(reasoning, secretsOf(endpoint)) };
        transcript.messages.push({ role: "assistant", content, toolCalls: [], ...thought });
        transcript.turns.push({
          startedAt,
          ...named,
          latencyMs: performance.now() - began,
          finishReason,
          rawFinishReason,
          ...billed,
          retries: [],
          cached: false,
        });
        if (finishReason === "refusal") {
          const reason = refusalReason({ rawFinishReason, content });
          return { ...transcript, ending: "refused", answer: null, sources: [], reason };
        }
        const { answer, sources } = readAnswer(content);
        return rolloutOf(transcript, answer, sources);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw withBilled(toModelError(error, secretsOf(endpoint)), billed);
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

function readReply(body: unknown) {
  const failure = failureInReply(body);
  if (failure !== null) throw failure;
  const { choices, model, id } = replySchema.parse(body);
  const [{ message, finish_reason }] = choices;
  const { text, reasoning } = separateReasoning(message.content ?? "");
  const refusal = message.refusal ?? "";
  const content = text || refusal;
  const rawFinishReason = finish_reason ?? "";
  if ((message.tool_calls ?? []).length > 0 && content === "") {
    throw new ModelError("protocol", "it requested a tool call, but an external agent must run its own tools", {
      retryable: false,
    });
  }
  return {
    content,
    reasoning,
    named: { ...model, ...id },
    finishReason: refusal === "" ? finishReasonOf(rawFinishReason, 0) : ("refusal" as const),
    rawFinishReason,
  };
}
