import { z } from "zod";
import { parseJsonOrNull } from "../../platform/json.js";
import { providerError } from "../provider-errors.js";
import type { OnDelta, ReplyAssembler } from "./stream-reply.js";

const usageSchema = z.record(z.string(), z.unknown()).nullish();

const startSchema = z.object({ message: z.looseObject({ usage: usageSchema }) });

const blockSchema = z.object({
  index: z.number().int().nonnegative(),
  content_block: z.looseObject({ type: z.string() }),
});

const deltaSchema = z.object({
  index: z.number().int().nonnegative(),
  delta: z.object({
    type: z.string(),
    text: z.string().optional(),
    partial_json: z.string().optional(),
    thinking: z.string().optional(),
    signature: z.string().optional(),
  }),
});

const endSchema = z.object({ delta: z.object({ stop_reason: z.string().nullish() }), usage: usageSchema });

const errorSchema = z.object({ error: z.looseObject({ type: z.string(), message: z.string() }) });

type Block = z.output<typeof blockSchema>["content_block"];

/** https://platform.claude.com/docs/en/api/errors. Other types count as server errors. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  overloaded_error: 529,
};

/** Assembles a message from the events in https://platform.claude.com/docs/en/build-with-claude/streaming. */
export class AnthropicAssembler implements ReplyAssembler {
  private message: z.output<typeof startSchema>["message"] = {};
  private usage: Record<string, unknown> = {};
  private stopReason: string | null = null;
  private readonly blocks = new Map<number, Block>();
  /** JSON text of the arguments per block. */
  private readonly inputs = new Map<number, string>();

  constructor(private readonly onDelta: OnDelta) {}

  get isComplete(): boolean {
    return this.stopReason !== null;
  }

  add(event: unknown): boolean {
    const { type } = z.object({ type: z.string() }).parse(event);
    switch (type) {
      case "message_start":
        this.message = startSchema.parse(event).message;
        this.countUsage(this.message.usage);
        break;
      case "content_block_start":
        this.start(blockSchema.parse(event));
        break;
      case "content_block_delta":
        this.extend(deltaSchema.parse(event));
        break;
      case "message_delta": {
        const { delta, usage } = endSchema.parse(event);
        this.stopReason = delta.stop_reason ?? this.stopReason;
        this.countUsage(usage);
        break;
      }
      case "error": {
        const { error } = errorSchema.parse(event);
        throw providerError({ status: STATUSES[error.type] ?? 500, message: error.message, body: { error } });
      }
    }
    return type === "message_stop";
  }

  body(): unknown {
    const content = [...this.blocks].map(([index, block]) =>
      block.type === "tool_use" ? { ...block, input: this.inputOf(index, block) } : block,
    );
    return { ...this.message, content, stop_reason: this.stopReason, usage: this.usage };
  }

  private start({ index, content_block: block }: z.output<typeof blockSchema>): void {
    this.blocks.set(index, { ...block });
    if (block.type === "tool_use") {
      this.onDelta({ type: "tool_call", index: this.callIndex(index), id: String(block.id), name: String(block.name) });
    }
    if (typeof block.text === "string" && block.text !== "") this.onDelta({ type: "text", text: block.text });
  }

  private extend({ index, delta }: z.output<typeof deltaSchema>): void {
    const { type, text = "", partial_json = "", thinking = "", signature } = delta;
    const block = this.blocks.get(index) ?? { type: type === "thinking_delta" ? "thinking" : "text" };
    this.blocks.set(index, block);
    if (text !== "") {
      block.text = `${block.text ?? ""}${text}`;
      this.onDelta({ type: "text", text });
    }
    if (thinking !== "") {
      block.thinking = `${block.thinking ?? ""}${thinking}`;
      this.onDelta({ type: "reasoning", text: thinking });
    }
    if (signature !== undefined) block.signature = `${block.signature ?? ""}${signature}`;
    if (partial_json !== "") {
      this.inputs.set(index, (this.inputs.get(index) ?? "") + partial_json);
      this.onDelta({ type: "tool_arguments", index: this.callIndex(index), text: partial_json });
    }
  }

  /** Numbers the calls separately from the other blocks. */
  private callIndex(index: number): number {
    return [...this.blocks].filter(([at, { type }]) => at < index && type === "tool_use").length;
  }

  /** Returns text that is not JSON unchanged, so that the call counts as unreadable. */
  private inputOf(index: number, { input }: Block): unknown {
    const text = this.inputs.get(index);
    return text === undefined ? (input ?? {}) : (parseJsonOrNull(text) ?? text);
  }

  /** The counts of later events are totals, and null means unchanged. */
  private countUsage(counts: z.output<typeof usageSchema>): void {
    for (const [name, value] of Object.entries(counts ?? {})) if (value !== null) this.usage[name] = value;
  }
}
