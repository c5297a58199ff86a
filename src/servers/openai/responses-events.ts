import { z } from "zod";
import type { ApiError } from "../http/api-error.js";
import { openaiError } from "./openai-error.js";
import { type OutputMessage, type ResponseObject, responseShape } from "./responses-format.js";

/** The events of a streamed response: withSequenceNumbers, and named by their type. */
export const responseEventShape = z.looseObject({
  type: z.string().regex(/^(response\.|error$)/),
  sequence_number: z.number().int(),
  response: responseShape.optional(),
});

export type ResponseEvent = z.output<typeof responseEventShape>;

/** The events before there is an answer. */
export function openingEvents(response: ResponseObject): ResponseEvent[] {
  return withSequenceNumbers(0, [
    { type: "response.created", response },
    { type: "response.in_progress", response },
  ]);
}

/** The events of a complete answer: agents do not stream theirs in parts. */
export function answerEvents(first: number, response: ResponseObject & { output: [OutputMessage] }): ResponseEvent[] {
  const [item] = response.output;
  const [part] = item.content;
  const position = { item_id: item.id, output_index: 0, content_index: 0 };
  const emptyItem = { ...item, status: "in_progress" as const, content: [] };
  const contentEvents =
    part?.type === "refusal"
      ? [
          { type: "response.content_part.added", ...position, part: { type: "refusal", refusal: "" } },
          { type: "response.refusal.delta", ...position, delta: part.refusal },
          { type: "response.refusal.done", ...position, refusal: part.refusal },
        ]
      : [
          { type: "response.content_part.added", ...position, part: { ...part, text: "" } },
          { type: "response.output_text.delta", ...position, delta: part?.text ?? "", logprobs: [] },
          { type: "response.output_text.done", ...position, text: part?.text ?? "", logprobs: [] },
        ];
  return withSequenceNumbers(first, [
    { type: "response.output_item.added", output_index: 0, item: emptyItem },
    ...contentEvents,
    { type: "response.content_part.done", ...position, part },
    { type: "response.output_item.done", output_index: 0, item },
    { type: `response.${response.status}`, response },
  ]);
}

/** The event of a failed response. */
export function failureEvents(
  first: number,
  open: ResponseObject,
  failure: ApiError,
  requestId: string,
): ResponseEvent[] {
  const { code, message } = openaiError(failure, requestId).body.error;
  return withSequenceNumbers(first, [
    { type: "response.failed", response: { ...open, status: "failed", error: { code, message } } },
  ]);
}

function withSequenceNumbers(
  first: number,
  events: readonly Omit<ResponseEvent, "sequence_number">[],
): ResponseEvent[] {
  return events.map((event, i) => ({ ...event, sequence_number: first + i }) as ResponseEvent);
}
