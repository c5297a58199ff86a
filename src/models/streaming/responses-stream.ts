import { z } from "zod";
import type { ModelError } from "../model.js";
import type { OnDelta, ReplyAssembler } from "./stream-reply.js";

const errorSchema = z.looseObject({ code: z.string().nullish(), message: z.string() });

type StreamError = z.output<typeof errorSchema>;

const itemSchema = z.looseObject({
  output_index: z.number().int().nonnegative(),
  item: z.looseObject({ type: z.string(), call_id: z.string().nullish(), name: z.string().optional() }),
});
const textSchema = z.looseObject({ delta: z.string() });
const argumentsSchema = z.looseObject({ output_index: z.number().int().nonnegative(), delta: z.string() });
const lastSchema = z.looseObject({ response: z.looseObject({ output: z.array(z.unknown()).nullish() }) });

/**
 * Reads the events of OpenAI's Responses API (https://platform.openai.com/docs/api-reference/responses-streaming). The
 * last one contains the entire response.
 */
export class ResponsesAssembler implements ReplyAssembler {
  private response: z.output<typeof lastSchema>["response"] | null = null;
  /** Finished items per output position. */
  private readonly items = new Map<number, unknown>();
  /** Number of each function call per output position. */
  private readonly calls = new Map<number, number>();

  /** @param failure converts an error event */
  constructor(
    private readonly onDelta: OnDelta,
    private readonly failure: (error: StreamError) => ModelError,
  ) {}

  get isComplete(): boolean {
    return this.response !== null;
  }

  add(event: unknown): boolean {
    const { type, error } = z.looseObject({ type: z.string(), error: z.unknown().optional() }).parse(event);
    switch (type) {
      case "response.output_item.added":
        this.startCall(itemSchema.parse(event));
        break;
      case "response.output_item.done": {
        const added = itemSchema.parse(event);
        this.startCall(added);
        this.items.set(added.output_index, added.item);
        break;
      }
      case "response.output_text.delta":
        this.onDelta({ type: "text", text: textSchema.parse(event).delta });
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.onDelta({ type: "reasoning", text: textSchema.parse(event).delta });
        break;
      case "response.function_call_arguments.delta": {
        const { output_index, delta: text } = argumentsSchema.parse(event);
        const index = this.calls.get(output_index);
        if (index !== undefined) this.onDelta({ type: "tool_arguments", index, text });
        break;
      }
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        this.response = lastSchema.parse(event).response;
        break;
      case "error":
        throw this.failure(errorSchema.parse(error ?? event));
    }
    return this.isComplete;
  }

  /** Some servers omit the output from the last event, because they have sent its items before. */
  body(): unknown {
    const output = this.response?.output ?? [];
    const items = [...this.items].sort(([a], [b]) => a - b).map(([, item]) => item);
    return { ...this.response, output: output.length > 0 ? output : items };
  }

  private startCall({ output_index, item }: z.output<typeof itemSchema>): void {
    if (item.type !== "function_call" || this.calls.has(output_index)) return;
    const index = this.calls.size;
    this.calls.set(output_index, index);
    this.onDelta({ type: "tool_call", index, id: item.call_id ?? "", name: item.name ?? "" });
  }
}
