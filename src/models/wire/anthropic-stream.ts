// Assembles a message from Anthropic's stream.
import { z } from "zod";
import { parseJsonOrNull } from "../../platform/json.js";
import { fieldsSchema, indexSchema, jsonTextSchema, textSchema } from "./reply-fields.js";
import type { EventFields, OnDelta, ReplyAssembler } from "./stream-reply.js";

const NO_DELTA = { type: "", text: "", thinking: "", signature: "", partial_json: "", stop_reason: "" };

const deltaSchema = z
  .object({
    type: textSchema,
    text: textSchema,
    thinking: textSchema,
    signature: textSchema,
    partial_json: jsonTextSchema,
    stop_reason: textSchema,
  })
  .catch(NO_DELTA);

const eventSchema = z.object({
  type: textSchema,
  index: indexSchema,
  message: fieldsSchema,
  content_block: fieldsSchema,
  delta: deltaSchema,
  usage: fieldsSchema,
});

type Fields = Record<string, unknown>;

/** Assembles a message from the events in https://platform.claude.com/docs/en/build-with-claude/streaming. */
export class AnthropicAssembler implements ReplyAssembler {
  private message: Fields = {};
  private readonly usage: Fields = {};
  private stopReason = "";
  private readonly blocks: Fields[] = [];
  /** The last block per index. Some servers give all blocks the same one. */
  private readonly blockAt = new Map<number, Fields>();
  /** JSON text of the arguments per block. */
  private readonly inputs = new Map<Fields, string>();

  constructor(private readonly onDelta: OnDelta) {}

  isComplete(): boolean {
    return this.stopReason !== "";
  }

  add(event: EventFields): boolean {
    const { type, index, message, content_block, delta, usage } = eventSchema.parse(event);
    switch (type) {
      case "message_start":
        this.message = message;
        this.countUsage(fieldsSchema.parse(message.usage));
        break;
      case "content_block_start":
        this.start(index ?? this.blocks.length, content_block);
        break;
      case "content_block_delta":
        // Without a start, a delta belongs to the last block.
        this.extend(index ?? Math.max(0, this.blocks.length - 1), delta);
        break;
      case "message_delta":
        this.stopReason = delta.stop_reason || this.stopReason;
        this.countUsage(usage);
        break;
    }
    return type === "message_stop";
  }

  body(): unknown {
    const content = this.blocks.map((block) =>
      block.type === "tool_use" ? { ...block, input: this.inputOf(block) } : block,
    );
    return { ...this.message, content, stop_reason: this.stopReason, usage: this.usage };
  }

  private start(index: number, block: Fields): void {
    this.blocks.push(block);
    this.blockAt.set(index, block);
    if (block.type === "tool_use") {
      const [id, name] = [block.id, block.name].map((value) => String(value ?? ""));
      this.onDelta({ type: "tool_call", index: this.callIndex(block), id: id ?? "", name: name ?? "" });
    }
    if (typeof block.text === "string" && block.text !== "") this.onDelta({ type: "text", text: block.text });
  }

  private extend(index: number, delta: typeof NO_DELTA): void {
    const { type, partial_json } = delta;
    if (!this.blockAt.has(index)) this.start(index, { type: /^(thinking|signature)/.test(type) ? "thinking" : "text" });
    const block = this.blockAt.get(index) ?? {};
    for (const field of ["text", "thinking", "signature"] as const) {
      const text = delta[field];
      if (text === "") continue;
      block[field] = `${block[field] ?? ""}${text}`;
      if (field !== "signature") this.onDelta({ type: field === "text" ? "text" : "reasoning", text });
    }
    if (partial_json !== "") {
      this.inputs.set(block, (this.inputs.get(block) ?? "") + partial_json);
      this.onDelta({ type: "tool_arguments", index: this.callIndex(block), text: partial_json });
    }
  }

  /** Numbers the calls separately from the other blocks. */
  private callIndex(block: Fields): number {
    return this.blocks.filter(({ type }) => type === "tool_use").indexOf(block);
  }

  /** Returns text that is not JSON unchanged, so that the call counts as unreadable. */
  private inputOf(block: Fields): unknown {
    const text = this.inputs.get(block);
    return text === undefined ? (block.input ?? {}) : (parseJsonOrNull(text) ?? text);
  }

  /** The counts of later events are totals, and null means unchanged. */
  private countUsage(counts: Fields): void {
    for (const [name, value] of Object.entries(counts)) if (value !== null) this.usage[name] = value;
  }
}
