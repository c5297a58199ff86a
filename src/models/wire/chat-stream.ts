// Assembles a chat completion from its chunks, in the variants of compatible servers.
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { parseJsonOrNull } from "../../platform/json.js";
import { readArguments } from "../tool-calls.js";
import {
  chatContentSchema,
  finishReasonSchema,
  idSchema,
  indexSchema,
  isFields,
  itemsSchema,
  pickFields,
  textSchema,
} from "./reply-fields.js";
import type { EventFields, OnDelta, ReplyAssembler } from "./stream-reply.js";

type Fields = Record<string, unknown>;

const functionSchema = z.looseObject({ name: textSchema, arguments: z.unknown().optional() });

/** A call, or a part of one. Some servers send the name and the arguments without the function around them. */
const callSchema = z
  .looseObject({ index: indexSchema, id: idSchema, function: functionSchema.optional().catch(undefined) })
  .transform(({ function: named, ...call }) => ({ ...call, function: named ?? functionSchema.parse(call) }));

export const NO_MESSAGE = { content: "", refusal: "", tool_calls: [] };

/** A message, or a part of one, which some servers send as plain text. Older servers send a single `function_call`. */
const messageSchema = z
  .looseObject({
    content: chatContentSchema,
    refusal: textSchema,
    tool_calls: itemsSchema.pipe(z.array(callSchema)),
    function_call: functionSchema.nullish().catch(null),
  })
  .transform(({ function_call, ...message }) => ({
    ...message,
    tool_calls: function_call ? [{ index: 0, id: "", function: function_call }] : message.tool_calls,
  }))
  .optional()
  .catch(({ value }) => (typeof value === "string" ? { ...NO_MESSAGE, content: value } : undefined));

/** A choice of a reply or a chunk. Some servers confuse the two names of its message. */
export const choiceSchema = z.looseObject({
  delta: messageSchema,
  message: messageSchema,
  finish_reason: finishReasonSchema.nullish().catch(null),
  // OpenRouter's report of a provider that failed during a reply (https://openrouter.ai/docs/api-reference/errors).
  error: z.unknown().optional(),
  // Moonshot sends its usage here.
  usage: z.unknown().optional(),
});

const chunkSchema = z.looseObject({
  choices: itemsSchema.pipe(z.array(choiceSchema)),
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
  isAnnounced: boolean;
}

/** Assembles a chat completion (https://platform.openai.com/docs/api-reference/chat-streaming) from its chunks. */
export class ChatAssembler implements ReplyAssembler {
  private readonly head: Fields = {};
  private readonly message: Fields = {};
  private readonly choice: Fields = {};
  private hasEmptyReason = false;
  private readonly calls: Call[] = [];
  private readonly callAt = new Map<number, Call>();

  /** @param fields the message fields to keep, in addition to text and calls */
  constructor(
    private readonly onDelta: OnDelta,
    private readonly fields: readonly string[],
  ) {}

  /** Some servers send an empty finish reason in every chunk. Only `[DONE]` then shows that the reply is complete. */
  isComplete(isDone: boolean): boolean {
    return typeof this.choice.finish_reason === "string" || (isDone && this.hasEmptyReason);
  }

  add(event: EventFields): boolean {
    const { choices, usage, x_groq, ...chunk } = chunkSchema.parse(event);
    const [choice] = choices;
    const reported = usage ?? x_groq?.usage ?? choice?.usage;
    Object.assign(this.head, pickFields(chunk, ["id", "model"]), pickFields({ usage: reported }, ["usage"]));
    if (choice === undefined) return false;
    this.hasEmptyReason ||= choice.finish_reason === "";
    Object.assign(this.choice, pickFields(choice, ["finish_reason", "error"]));
    const isFirst = this.message.content === undefined && this.calls.length === 0;
    const part = choice.delta ?? (isFirst ? choice.message : undefined);
    if (part === undefined) return false;
    this.keepFields(part);
    for (const call of part.tool_calls) this.addCall(call);
    return false;
  }

  body(): unknown {
    for (const call of this.calls) this.announce(call);
    const calls = this.calls.map(({ id, name, arguments: args, fields }) => ({
      ...fields,
      id,
      function: { name, arguments: args },
    }));
    const message = { content: "", ...this.message, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
    return { ...this.head, choices: [{ ...this.choice, message }] };
  }

  private keepFields(delta: Fields): void {
    const part = pickFields(delta, ["content", "refusal", ...this.fields]);
    for (const [name, value] of Object.entries(part)) this.message[name] = joined(this.message[name], value);
    // Servers that send both fields repeat the text.
    const reasoning = part.reasoning_content ?? part.reasoning;
    if (typeof reasoning === "string") this.onDelta({ type: "reasoning", text: reasoning });
    if (typeof part.content === "string") this.onDelta({ type: "text", text: part.content });
  }

  private addCall(part: CallPart): void {
    if (this.isRepetition(part)) return;
    const { index: _index, id, function: functionPart, ...fields } = part;
    const call = this.callOf(part);
    if (id !== "") call.id = id;
    Object.assign(call.fields, fields);
    call.name = joinedName(call.name, functionPart.name);
    const args = functionPart.arguments ?? "";
    if (args === "") return;
    this.announce(call);
    call.arguments = typeof args === "string" ? `${call.arguments}${args}` : args;
    const text = typeof args === "string" ? args : JSON.stringify(args);
    this.onDelta({ type: "tool_arguments", index: this.calls.indexOf(call), text });
  }

  /** Reports the beginning of a call, whose name is complete when its arguments begin. */
  private announce(call: Call): void {
    if (call.isAnnounced || call.name === "") return;
    call.isAnnounced = true;
    this.onDelta({ type: "tool_call", index: this.calls.indexOf(call), id: call.id, name: call.name });
  }

  private startedCall({ index, id, name }: Pick<CallPart, "index" | "id"> & { readonly name: string }) {
    const isNumbered = index !== null && (id !== "" || name !== "" || this.callAt.has(index));
    return isNumbered ? this.callAt.get(index) : this.calls.at(-1);
  }

  /** Some servers send the complete call again after its parts, and LiteLLM then encodes the arguments twice. */
  private isRepetition({ index, id, function: { name, arguments: args = "" } }: CallPart): boolean {
    const call = this.startedCall({ index, id, name });
    if (call === undefined || !beginsArguments(args) || !isWhole(call.arguments)) return false;
    if ((id !== "" && id !== call.id) || (name !== "" && name !== call.name)) return false;
    const repeated = readArguments(args);
    return repeated.invalid === undefined && isDeepStrictEqual(repeated, readArguments(call.arguments));
  }

  /**
   * Returns the call that a part belongs to. Some servers number all calls of a reply zero, or send no number. Then
   * another call starts with another ID, or with more content after complete arguments. Other servers send another ID
   * with each part, or another number with parts that have neither ID nor name.
   */
  private callOf({ index, id, function: { name, arguments: args = "" } }: CallPart): Call {
    const existing = this.startedCall({ index, id, name });
    const isOther =
      existing !== undefined &&
      ((id !== "" && existing.id !== "" && id !== existing.id && name !== "" && (args === "" || beginsObject(args))) ||
        (((name !== "" && name !== existing.name) || beginsObject(args)) && isWhole(existing.arguments)));
    if (existing !== undefined && !isOther) return existing;
    const repeatedName = isOther && name === "" ? existing.name : "";
    const call: Call = { id: "", name: repeatedName, arguments: "", fields: {}, isAnnounced: false };
    this.calls.push(call);
    if (index !== null) this.callAt.set(index, call);
    return call;
  }
}

/** Longer than any call. Without a limit, endless arguments would be parsed again for each part. */
const MAX_CALL_CHARS = 50_000;

/** Whether arguments are a complete object, after which nothing can follow. */
function isWhole(args: unknown): boolean {
  if (typeof args !== "string") return true;
  return args.length <= MAX_CALL_CHARS && args.trimEnd().endsWith("}") && isFields(parseJsonOrNull(args));
}

/** Whether arguments can start with this part. Some servers encode them twice. */
const beginsArguments = (args: unknown) => typeof args !== "string" || /^\s*["{]/.test(args);

const beginsObject = (args: unknown) => typeof args !== "string" || /^\s*\{/.test(args);

/** Joins the parts of a name. Some servers repeat the entire name, or send the name so far. */
function joinedName(before: string, part: string): string {
  return part.startsWith(before) ? part : `${before}${part}`;
}

/** Fields that identify a part and are repeated or sent once, unlike text. */
const WHOLE = new Set(["id", "type", "format", "index", "signature"]);

/** Appends a part of a field. Texts are joined, list items by `index` and type, and objects field by field. */
function joined(before: unknown, part: unknown): unknown {
  if (before == null) return part;
  if (typeof before === "string" && typeof part === "string") return before + part;
  if (Array.isArray(before) && Array.isArray(part)) {
    for (const item of part) addItem(before, item);
    return before;
  }
  if (!isFields(before) || !isFields(part)) return part ?? before;
  const both = { ...before };
  for (const [name, value] of Object.entries(part)) {
    if (value != null) both[name] = WHOLE.has(name) ? value : joined(both[name], value);
  }
  return both;
}

/** Only the newest items can continue, so that the time per part is bounded. */
const MAX_OPEN_ITEMS = 100;

function addItem(list: unknown[], item: unknown): void {
  const from = Math.max(0, list.length - MAX_OPEN_ITEMS);
  const at = list.slice(from).findLastIndex((one) => isContinued(one, item));
  if (at === -1) list.push(item);
  else list[from + at] = joined(list[from + at], item);
}

/** Returns whether `item` continues `one`. Items without a number continue until they are signed. */
function isContinued(one: unknown, item: unknown): boolean {
  if (!isFields(one) || !isFields(item) || one.type !== item.type) return false;
  return one.index == null && item.index == null ? one.signature == null : one.index === item.index;
}
