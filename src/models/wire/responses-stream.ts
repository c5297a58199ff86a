// Assembles a reply of the Responses API from its events.
import { z } from "zod";
import { idSchema, indexSchema, textSchema } from "./reply-fields.js";
import type { EventFields, OnDelta, ReplyAssembler } from "./stream-reply.js";

const eventSchema = z.object({
  type: textSchema,
  output_index: indexSchema,
  item_id: idSchema,
  item: z.looseObject({ type: textSchema, call_id: idSchema, name: textSchema }).optional().catch(undefined),
  delta: textSchema,
  text: textSchema,
  part: z.object({ text: textSchema, refusal: textSchema }).catch({ text: "", refusal: "" }),
  arguments: textSchema,
  response: z.looseObject({ output: z.array(z.unknown()).catch([]) }).catch({ output: [] }),
});

type Event = z.output<typeof eventSchema>;

/** An item of the output so far. */
interface Item {
  fields: NonNullable<Event["item"]> | null;
  isFinished: boolean;
  text: string;
  refusal: string;
  arguments: string;
  /** Number of the function call, or null. */
  call: number | null;
}

const EMPTY = { text: "", refusal: "", arguments: "", call: null };

/**
 * Reads the events of OpenAI's Responses API (https://platform.openai.com/docs/api-reference/responses-streaming). The
 * last one contains the entire response, but some servers send its output only in parts.
 */
export class ResponsesAssembler implements ReplyAssembler {
  private response: Event["response"] | null = null;
  /** Items per position or ID, in order. */
  private readonly items = new Map<number | string, Item>();
  private calls = 0;

  constructor(private readonly onDelta: OnDelta) {}

  isComplete(): boolean {
    return this.response !== null;
  }

  add(fields: EventFields): boolean {
    const event = eventSchema.parse(fields);
    switch (event.type) {
      case "response.output_item.added":
      case "response.output_item.done":
        this.addItem(event);
        break;
      case "response.output_text.delta":
        this.itemOf(event).text += event.delta;
        this.onDelta({ type: "text", text: event.delta });
        break;
      case "response.output_text.done":
        this.itemOf(event).text ||= event.text;
        break;
      case "response.content_part.done":
        this.itemOf(event).text ||= event.part.text;
        this.itemOf(event).refusal ||= event.part.refusal;
        break;
      case "response.refusal.delta":
        this.itemOf(event).refusal += event.delta;
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        this.onDelta({ type: "reasoning", text: event.delta });
        break;
      case "response.function_call_arguments.delta": {
        const item = this.itemOf(event);
        item.arguments += event.delta;
        if (item.call !== null) this.onDelta({ type: "tool_arguments", index: item.call, text: event.delta });
        break;
      }
      case "response.function_call_arguments.done":
        this.itemOf(event).arguments ||= event.arguments;
        break;
      case "response.completed":
      case "response.done":
      case "response.incomplete":
      case "response.failed":
        this.response = event.response;
    }
    return this.isComplete();
  }

  body(): unknown {
    const { output = [], ...response } = this.response ?? {};
    return { ...response, output: output.length > 0 ? output : [...this.items.values()].flatMap(toItem) };
  }

  private itemOf({ output_index, item_id }: Event): Item {
    const key = output_index ?? (item_id || Math.max(0, this.items.size - 1));
    const item = this.items.get(key) ?? { fields: null, isFinished: false, ...EMPTY };
    this.items.set(key, item);
    return item;
  }

  private addItem(event: Event): void {
    const { item: fields } = event;
    if (fields === undefined) return;
    const key = event.item_id || String(fields.id ?? "");
    const item = this.itemOf({
      ...event,
      item_id: key,
      output_index: event.output_index ?? (key === "" ? this.items.size : null),
    });
    item.fields = fields;
    item.isFinished ||= event.type === "response.output_item.done";
    if (fields.type !== "function_call" || item.call !== null) return;
    item.call = this.calls++;
    this.onDelta({ type: "tool_call", index: item.call, id: fields.call_id, name: fields.name });
  }
}

/** Returns a finished item, or one with the parts that have arrived. */
function toItem({ fields, isFinished, text, refusal, arguments: args }: Item): unknown[] {
  if (isFinished) return [fields];
  if (fields?.type === "function_call") return [{ ...fields, arguments: args || fields.arguments }];
  const part = refusal === "" ? { type: "output_text", text } : { type: "refusal", refusal };
  return text === "" && refusal === "" ? [] : [{ type: "message", ...fields, content: [part] }];
}
