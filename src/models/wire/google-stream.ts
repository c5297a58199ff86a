// Assembles a reply of Gemini from its stream.
import { z } from "zod";
import type { JsonValue } from "../../platform/json.js";
import { callSchema, itemsSchema, partsSchema, textSchema } from "./reply-fields.js";
import type { EventFields, OnDelta, ReplyAssembler } from "./stream-reply.js";

type Part = { [key: string]: JsonValue };

const candidateSchema = z.looseObject({
  content: partsSchema,
  finishReason: textSchema,
});

const chunkSchema = z.looseObject({
  candidates: itemsSchema.pipe(z.array(candidateSchema)),
  promptFeedback: z.looseObject({ blockReason: textSchema }).nullish().catch(null),
});

/**
 * Assembles a reply of Gemini's `streamGenerateContent` (https://ai.google.dev/api/generate-content). Each chunk has
 * the form of a plain reply with further parts. The end of the stream is not marked.
 */
export class GoogleAssembler implements ReplyAssembler {
  private last: Record<string, unknown> = {};
  private readonly parts: Part[] = [];
  private finishReason = "";
  private isBlocked = false;
  private hasCandidate = false;
  private calls = 0;

  constructor(private readonly onDelta: OnDelta) {}

  isComplete(): boolean {
    return this.finishReason !== "" || this.isBlocked;
  }

  add(event: EventFields): boolean {
    const { candidates, ...others } = chunkSchema.parse(event);
    this.last = { ...this.last, ...others };
    this.isBlocked ||= Boolean(others.promptFeedback?.blockReason);
    const [candidate] = candidates;
    if (candidate === undefined) return false;
    this.hasCandidate = true;
    this.finishReason = candidate.finishReason || this.finishReason;
    for (const part of candidate.content.parts) this.addPart(part);
    return false;
  }

  body(): unknown {
    const candidate = { content: { role: "model", parts: this.parts }, finishReason: this.finishReason };
    return { ...this.last, ...(this.hasCandidate ? { candidates: [candidate] } : {}) };
  }

  private addPart(part: Part): void {
    const { text, functionCall } = part;
    const previous = this.parts.at(-1);
    if (previous !== undefined && isPlainText(previous) && isPlainText(part) && previous.thought === part.thought) {
      previous.text = `${previous.text}${text}`;
    } else this.parts.push({ ...part });
    if (typeof text === "string" && text !== "") {
      this.onDelta({ type: part.thought === true ? "reasoning" : "text", text });
    }
    const call = functionCall === undefined ? null : callSchema.safeParse(functionCall).data;
    if (!call) return;
    const index = this.calls++;
    this.onDelta({ type: "tool_call", index, id: call.id, name: call.name });
    this.onDelta({ type: "tool_arguments", index, text: JSON.stringify(call.arguments ?? {}) });
  }
}

/** Returns false for parts with a signature, which must be sent back unchanged. */
function isPlainText(part: Part): boolean {
  return typeof part.text === "string" && Object.keys(part).every((key) => key === "text" || key === "thought");
}
