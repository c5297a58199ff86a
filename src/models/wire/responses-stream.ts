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
  refusal: textSchema,
  part: z.object({ text: textSchema, refusal: textSchema }).catch({ text: "", refusal: "" }),
  arguments: textSchema,
  response: z.looseObject({ output: z.array(z.unknown()).catch([]) }).catch({ output: [] }),
});

type Event = z.output<typeof eventSchema>;

/** The texts of an item, which arrive in parts. */
const NO_TEXTS = { text: "", refusal: "", arguments: "" };

/** The texts by the name of their events, which ends with `.delta` or `.done`. */
const TEXTS = new Map<string, keyof typeof NO_TEXTS>([
  ["response.output_text", "text"],
  ["response.refusal", "refusal"],
  ["response.function_call_arguments", "arguments"],
]);

const REASONING = /^response\.reasoning_(?:summary_)?text\.delta$/;
const LAST_EVENTS = new Set(["completed", "done", "incomplete", "failed"].map((state) => `response.${state}`));

/** An item of the output so far. */
interface Item {
  fields: NonNullable<Event["item"]> | null;
  isFinished: boolean;
  readonly texts: typeof NO_TEXTS;
  /** Number of the function call, or null. */
  call: number | null;
}

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
    const { type } = event;
    const text = TEXTS.get(type.slice(0, type.lastIndexOf(".")));
    if (text !== undefined) this.addText(event, text);
    else if (REASONING.test(type)) this.onDelta({ type: "reasoning", text: event.delta });
    else if (type.startsWith("response.output_item.")) this.addItem(event);
    else if (type === "response.content_part.done") {
      const { texts } = this.itemOf(event);
      texts.text ||= event.part.text;
      texts.refusal ||= event.part.refusal;
    } else if (LAST_EVENTS.has(type)) this.response = event.response;
    return this.isComplete();
  }

  body(): unknown {
    const { output = [], ...response } = this.response ?? {};
    return { ...response, output: output.length > 0 ? output : [...this.items.values()].flatMap(toItem) };
  }

  private itemOf({ output_index, item_id }: Event): Item {
    const key = output_index ?? (item_id || Math.max(0, this.items.size - 1));
    const item = this.items.get(key) ?? { fields: null, isFinished: false, texts: { ...NO_TEXTS }, call: null };
    this.items.set(key, item);
    return item;
  }

  /** Adds a part. The entire text counts only if a server sends no parts. */
  private addText(event: Event, name: keyof typeof NO_TEXTS): void {
    const { texts, call } = this.itemOf(event);
    if (!event.type.endsWith(".delta")) {
      texts[name] ||= event[name];
      return;
    }
    texts[name] += event.delta;
    if (name === "text") this.onDelta({ type: "text", text: event.delta });
    if (name === "arguments" && call !== null) {
      this.onDelta({ type: "tool_arguments", index: call, text: event.delta });
    }
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
function toItem({ fields, isFinished, texts: { text, refusal, arguments: args } }: Item): unknown[] {
  if (isFinished) return [fields];
  if (fields?.type === "function_call") return [{ ...fields, arguments: args || fields.arguments }];
  const part = refusal === "" ? { type: "output_text", text } : { type: "refusal", refusal };
  return text === "" && refusal === "" ? [] : [{ type: "message", ...fields, content: [part] }];
}
