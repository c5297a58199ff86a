// Parts of a request that can be left out after a server refused them. Most servers need or ignore these parts, and
// others reject the entire request because of them.
import { isJsonObject, type JsonValue } from "../../platform/json.js";

/** A request's body as an object, in any wire format. */
export type RequestBody = Record<string, unknown>;

interface Omission {
  /** The part, for notes and docs. */
  readonly what: string;
  /** Matches the errors of servers that refuse the part. */
  readonly pattern: RegExp;
  /** Returns the body without the part. `refusal` is the error. */
  without(body: RequestBody, refusal: string): RequestBody;
}

/** Returns the new value of a property or list item, or undefined to remove it. */
type Change = (key: string, value: JsonValue) => JsonValue | undefined;

/** Copies a value with changed properties, at any depth. Properties changed to undefined are removed. */
function changed(value: JsonValue, change: Change): JsonValue {
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      const kept = change("", item);
      return kept === undefined ? [] : [changed(kept, change)];
    });
  }
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).flatMap(([key, inner]) => {
    const kept = change(key, inner);
    return kept === undefined ? [] : [[key, changed(kept, change)] as const];
  });
  return Object.fromEntries(entries);
}

/** Changes only some of the body's fields, because a tool's schema can have properties of any name. */
function within(fields: readonly string[], change: Change): Omission["without"] {
  return (body) => {
    const parts = fields.filter((field) => body[field] !== undefined);
    return { ...body, ...Object.fromEntries(parts.map((field) => [field, changed(body[field] as JsonValue, change)])) };
  };
}

const CONVERSATION = ["messages", "input", "contents"];

const withoutKeys = (fields: readonly string[], keys: readonly string[]) =>
  within(fields, (key, value) => (keys.includes(key) ? undefined : value));

const withoutItems = (types: readonly string[], keys: readonly string[] = []) =>
  within(CONVERSATION, (key, value) => {
    const isItem = isJsonObject(value) && types.includes(String(value.type));
    return isItem || keys.includes(key) ? undefined : value;
  });

const fieldOf = (name: string): Omission => ({
  what: `\`${name}\``,
  pattern: new RegExp(`\\b${name}\\b`),
  without: ({ [name]: _, ...body }) => body,
});

const historyField = (name: string): Omission => ({
  what: `\`${name}\` in the history`,
  pattern: new RegExp(`\\b${name}\\b`),
  without: withoutKeys(CONVERSATION, [name]),
});

export const OMISSIONS: readonly Omission[] = [
  ...["reasoning_content", "reasoning_details", "thinking_blocks", "provider_specific_fields", "extra_content"].map(
    historyField,
  ),
  { ...historyField("reasoning"), pattern: /\breasoning\b(?!.{0,20}effort)/i },
  {
    what: "thinking in the history",
    pattern: /thinking\b|\bsignature\b/i,
    without: withoutItems(["thinking", "redacted_thinking"], ["thinking_blocks"]),
  },
  {
    what: "thought signatures in the history",
    pattern: /thought.?signature/i,
    without: within(CONVERSATION, (key, value) =>
      key === "thoughtSignature" || (isJsonObject(value) && value.thought === true) ? undefined : value,
    ),
  },
  {
    what: "encrypted reasoning in the history",
    pattern: /encrypted|\breasoning\b|\bitems? (?:with id|.{0,20}not (?:found|persisted))/i,
    without: withoutItems(["reasoning"]),
  },
  { ...fieldOf("include"), pattern: /\binclude\b|encrypted_content/i },
  fieldOf("store"),
  { ...fieldOf("stream_options"), pattern: /\bstream_options\b|include_usage/ },
  { what: "`strict` in tools", pattern: /\bstrict\b/, without: withoutKeys(["tools"], ["strict"]) },
  { ...fieldOf("tool_choice"), pattern: /tool[_ ]choice/i },
  {
    what: "`cache_control`",
    pattern: /cache_?control|prompt caching/i,
    without: withoutKeys(["system", "messages", "tools"], ["cache_control"]),
  },
  {
    what: "the system role (its text goes into the first user message)",
    pattern:
      /\broles?\b(?!.{0,20}\btool)|(?:system|developer)[ _]?(?:message|prompt|instruction)|\binstructions\b|first message/i,
    without: withoutSystemRole,
  },
  {
    what: "the end of long tool descriptions",
    pattern: /description\b.*\b\d{3,}\b/is,
    without: shortenDescriptions,
  },
];

type Role = { readonly role: string; readonly content?: string; readonly parts?: readonly JsonValue[] };

/** Moves the system text to the head of the first user message, in OpenAI's formats and at Google. */
function withoutSystemRole(body: RequestBody): RequestBody {
  const { messages, input, instructions, contents, systemInstruction, ...others } = body;
  if (Array.isArray(messages) && messages[0]?.role === "system") {
    const [{ content: system }, ...rest] = messages as [Role, ...Role[]];
    return { ...body, messages: withUserText(rest, system) };
  }
  if (Array.isArray(input) && typeof instructions === "string") {
    return { ...others, input: withUserText(input, instructions) };
  }
  if (Array.isArray(contents) && systemInstruction !== undefined) {
    const [first, ...rest] = contents as [Role, ...Role[]];
    const { parts } = systemInstruction as Role;
    return { ...others, contents: [{ ...first, parts: [...(parts ?? []), ...(first.parts ?? [])] }, ...rest] };
  }
  return body;
}

function withUserText(messages: readonly Role[], text = ""): Role[] {
  const at = messages.findIndex(({ role }) => role === "user");
  const user = { role: "user", content: [text, messages[at]?.content ?? ""].join("\n\n").trim() };
  return at === -1 ? [user, ...messages] : messages.with(at, user);
}

/** Truncates descriptions of tools to the smallest length in an error, which is the allowed one. */
function shortenDescriptions(body: RequestBody, refusal: string): RequestBody {
  const allowed = Math.min(...(refusal.match(/\b\d{3,}\b/g) ?? []).map(Number));
  const shortened = (text: string) => (text.length > allowed ? `${text.slice(0, allowed - 1)}…` : text);
  return within(["tools"], (key, value) =>
    key === "description" && typeof value === "string" ? shortened(value) : value,
  )(body, refusal);
}

/** The parts that one server refused. */
export class Omissions {
  private readonly learned = new Map<Omission, string>();

  /** Returns the body without the refused parts. */
  applyTo<Body extends RequestBody>(body: Body): Body {
    let at: RequestBody = body;
    for (const [omission, refusal] of this.learned) at = omission.without(at, refusal);
    return at as Body;
  }

  /** Remembers the first part of `body` that an error is about. Returns its name, or null if there is none. */
  learn(refusal: string, body: RequestBody): string | null {
    const isSent = ({ without }: Omission) => JSON.stringify(without(body, refusal)) !== JSON.stringify(body);
    const found = OMISSIONS.find((one) => one.pattern.test(refusal) && !this.learned.has(one) && isSent(one));
    if (found === undefined) return null;
    this.learned.set(found, refusal);
    return found.what;
  }
}
