import { z } from "zod";
import { chatContentSchema, failureInReply } from "../endpoint.js";
import type { OnDelta, ReplyAssembler } from "./stream-reply.js";

type Fields = Record<string, unknown>;

const callSchema = z.looseObject({
  index: z.number().int().nonnegative().nullish(),
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.unknown().optional() }).nullish(),
});

const chunkSchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        delta: z
          .looseObject({
            content: chatContentSchema.nullish(),
            refusal: z.string().nullish(),
            tool_calls: z.array(callSchema).nullish(),
          })
          .nullish(),
        finish_reason: z.string().nullish(),
        error: z.unknown().optional(),
      }),
    )
    .nullish(),
  usage: z.unknown().optional(),
  // Groq sends its usage here.
  x_groq: z.looseObject({ usage: z.unknown().optional() }).nullish().catch(null),
});

type CallPart = z.output<typeof callSchema>;

/** A tool call so far. */
interface Call {
  id: string;
  name: string;
  /** JSON text, or an object from a server that does not send text. */
  arguments: unknown;
  /** Other fields of the call. */
  readonly fields: Fields;
}

/** Assembles a chat completion (https://platform.openai.com/docs/api-reference/chat-streaming) from its chunks. */
export class ChatAssembler implements ReplyAssembler {
  private readonly head: Fields = {};
  private readonly message: Fields = {};
  private readonly choice: Fields = {};
  private content = "";
  private refusal = "";
  private readonly calls: Call[] = [];
  private readonly callAt = new Map<number, Call>();

  /** @param fields the message fields to keep, in addition to text and calls */
  constructor(
    private readonly onDelta: OnDelta,
    private readonly fields: readonly string[],
  ) {}

  get isComplete(): boolean {
    return typeof this.choice.finish_reason === "string";
  }

  add(data: unknown): boolean {
    const failure = failureInReply(withoutChoices(data));
    if (failure !== null) throw failure;
    const { choices, usage, x_groq, ...chunk } = chunkSchema.parse(data);
    Object.assign(this.head, pickSet(chunk, ["id", "model"]), pickSet({ usage: usage ?? x_groq?.usage }, ["usage"]));
    const choice = choices?.[0];
    if (choice === undefined) return false;
    Object.assign(this.choice, pickSet(choice, ["finish_reason", "error"]));
    const { content, refusal, tool_calls, ...others } = choice.delta ?? {};
    this.keepFields(others);
    if (content) {
      this.content += content;
      this.onDelta({ type: "text", text: content });
    }
    this.refusal += refusal ?? "";
    for (const part of tool_calls ?? []) this.addCall(part);
    return false;
  }

  body(): unknown {
    const calls = this.calls.map(({ id, name, arguments: args, fields }) => ({
      ...fields,
      id,
      function: { name, arguments: args },
    }));
    const message = {
      ...this.message,
      content: this.content,
      ...(this.refusal === "" ? {} : { refusal: this.refusal }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    return { ...this.head, choices: [{ ...this.choice, message }] };
  }

  private keepFields(delta: Fields): void {
    const extraFields = pickSet(delta, this.fields);
    for (const [name, value] of Object.entries(extraFields)) this.message[name] = joined(this.message[name], value);
    // Servers that send both fields repeat the text.
    const reasoning = extraFields.reasoning_content ?? extraFields.reasoning;
    if (typeof reasoning === "string") this.onDelta({ type: "reasoning", text: reasoning });
  }

  private addCall(part: CallPart): void {
    const { index, id, function: functionPart, type: _, ...fields } = part;
    const call = this.callOf(part);
    if (id) call.id = id;
    Object.assign(call.fields, fields);
    const at = this.calls.indexOf(call);
    if (functionPart?.name && call.name === "") {
      call.name = functionPart.name;
      this.onDelta({ type: "tool_call", index: at, id: call.id, name: call.name });
    }
    const args = functionPart?.arguments ?? "";
    if (args === "") return;
    call.arguments = typeof args === "string" ? `${call.arguments}${args}` : args;
    this.onDelta({
      type: "tool_arguments",
      index: at,
      text: typeof args === "string" ? args : JSON.stringify(args),
    });
  }

  /**
   * Returns the call that a part belongs to. Some servers number all calls of a reply zero, or send no number, and only
   * the id shows that another call starts.
   */
  private callOf({ index, id, function: called }: CallPart): Call {
    const existing = index == null ? this.calls.at(-1) : this.callAt.get(index);
    const isOther = existing !== undefined && id && existing.id !== "" && id !== existing.id && called?.name;
    if (existing !== undefined && !isOther) return existing;
    const call: Call = { id: "", name: "", arguments: "", fields: {} };
    this.calls.push(call);
    if (index != null) this.callAt.set(index, call);
    return call;
  }
}

/** OpenRouter sends the error of a reply together with an empty choice. */
function withoutChoices(data: unknown): unknown {
  if (typeof data !== "object" || data === null || !("error" in data) || data.error === null) return null;
  return { error: data.error };
}

function pickSet(from: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.filter((name) => from[name] != null).map((name) => [name, from[name]]));
}

/** Fields that identify a part and are repeated or sent once, unlike text. */
const WHOLE = new Set(["id", "type", "format", "index", "signature"]);

/** Appends a part of a field. Texts are joined, list items by `index` and type, and objects field by field. */
function joined(before: unknown, part: unknown): unknown {
  if (before == null) return part;
  if (typeof before === "string" && typeof part === "string") return before + part;
  if (Array.isArray(before) && Array.isArray(part)) return part.reduce(withItem, before);
  if (!isFields(before) || !isFields(part)) return part ?? before;
  const both = { ...before };
  for (const [name, value] of Object.entries(part)) {
    if (value != null) both[name] = WHOLE.has(name) ? value : joined(both[name], value);
  }
  return both;
}

function withItem(list: unknown[], item: unknown): unknown[] {
  const at = list.findLastIndex((one) => isContinued(one, item));
  return at === -1 ? [...list, item] : list.with(at, joined(list[at], item));
}

/** Returns whether `item` continues `one`. Items without a number continue until they are signed. */
function isContinued(one: unknown, item: unknown): boolean {
  if (!isFields(one) || !isFields(item) || one.type !== item.type) return false;
  return one.index == null && item.index == null ? one.signature == null : one.index === item.index;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
