import { z } from "zod";
import type { ApiError } from "../http/api-error.js";
import { openaiError } from "./openai-error.js";
import { type OutputMessage, type ResponseObject, responseShape } from "./responses-format.js";

/** The events of a streamed response: numbered, and named by their type. */
export const responseEventShape = z.looseObject({
  type: z.string().regex(/^(response\.|error$)/),
  sequence_number: z.number().int(),
  response: responseShape.optional(),
});

export type ResponseEvent = z.output<typeof responseEventShape>;

/** Before anything is known. */
export function openingEvents(response: ResponseObject): ResponseEvent[] {
  return numbered(0, [
    { type: "response.created", response },
    { type: "response.in_progress", response },
  ]);
}

/** The answer, whole: agents give it when they have it. */
export function answerEvents(first: number, response: ResponseObject & { output: [OutputMessage] }): ResponseEvent[] {
  const [item] = response.output;
  const [part] = item.content;
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  const empty = { ...item, status: "in_progress" as const, content: [] };
  const said =
    part?.type === "refusal"
      ? [
          { type: "response.content_part.added", ...at, part: { type: "refusal", refusal: "" } },
          { type: "response.refusal.delta", ...at, delta: part.refusal },
          { type: "response.refusal.done", ...at, refusal: part.refusal },
        ]
      : [
          { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
          { type: "response.output_text.delta", ...at, delta: part?.text ?? "", logprobs: [] },
          { type: "response.output_text.done", ...at, text: part?.text ?? "", logprobs: [] },
        ];
  return numbered(first, [
    { type: "response.output_item.added", output_index: 0, item: empty },
    ...said,
    { type: "response.content_part.done", ...at, part },
    { type: "response.output_item.done", output_index: 0, item },
    { type: `response.${response.status}`, response },
  ]);
}

/** No answer, and why. */
export function failureEvents(
  first: number,
  open: ResponseObject,
  failure: ApiError,
  requestId: string,
): ResponseEvent[] {
  const { code, message } = openaiError(failure, requestId).body.error;
  return numbered(first, [
    { type: "response.failed", response: { ...open, status: "failed", error: { code, message } } },
  ]);
}

function numbered(first: number, events: readonly Omit<ResponseEvent, "sequence_number">[]): ResponseEvent[] {
  return events.map((event, i) => ({ ...event, sequence_number: first + i }) as ResponseEvent);
}
