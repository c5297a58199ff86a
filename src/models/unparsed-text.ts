// Extracts the reasoning and tool calls that a server without the right parser leaves in the text of a reply, in the
// tokens of the model's chat template. This way, reasoning is never taken for an answer, and every call is either made
// or rejected.
//
// The formats follow vLLM's reasoning and tool parsers (https://docs.vllm.ai/en/latest/features/tool_calling.html) and
// the harmony format (https://cookbook.openai.com/articles/openai-harmony).
import { isJsonObject, type JsonValue, jsonObjectsIn, parseJsonOrNull, parsePythonOrNull } from "../platform/json.js";
import { compact } from "../platform/optional-values.js";
import type { Completion, Model, ModelRequest, ReplyDelta, ToolCall, ToolSpec } from "./model.js";
import { readArguments, withUniqueIds } from "./tool-calls.js";

type UnidentifiedCall = Omit<ToolCall, "id">;

/** The calls in a text, and the text before them. `calls` is empty if their form or their tools are unknown. */
interface FoundCalls {
  readonly calls: readonly UnidentifiedCall[];
  readonly text: string;
}

type Tools = ReadonlyMap<string, ToolSpec>;

/**
 * Decorates a model: moves reasoning and tool calls from the text of its replies to their own fields. Streamed text is
 * held back from the first possible tag on. After a reply with tags, the text of later replies is not streamed.
 */
export function withSeparatedText(model: Model): Model {
  let leavesTags = false;
  return {
    id: model.id,
    async complete(request, signal) {
      const { onDelta } = request;
      const gated = onDelta === undefined ? request : { ...request, onDelta: textBeforeTags(onDelta, leavesTags) };
      const reply = separateReply(await model.complete(gated, signal), request);
      leavesTags ||= reply.unparsed !== undefined;
      return reply;
    },
  };
}

/** Passes on the parts of a reply, but no text from the first possible tag on. The complete reply contains it. */
function textBeforeTags(onDelta: (delta: ReplyDelta) => void, isHeldFromStart: boolean) {
  let pending = "";
  let isStart = true;
  let isHeld = isHeldFromStart;
  return (delta: ReplyDelta): void => {
    if (delta.type !== "text") {
      onDelta(delta);
      return;
    }
    if (isHeld) return;
    pending += delta.text;
    if (isStart && pending.length < MAX_UNDECIDED && UNDECIDED_START.test(pending)) return;
    const tag = pending.search(isStart ? MARKERS : MARKERS_ANYWHERE);
    isStart = false;
    isHeld = tag !== -1;
    const end = isHeld ? tag : pending.search(UNDECIDED_END);
    const text = end === -1 ? pending : pending.slice(0, end);
    pending = pending.slice(text.length);
    if (text !== "") onDelta({ type: "text", text });
  };
}

const SERVER_FLAGS = {
  reasoning: "a reasoning parser (vLLM and SGLang: --reasoning-parser, llama.cpp: --reasoning-format)",
  tool_call: "a tool-call parser (vLLM: --enable-auto-tool-choice --tool-call-parser, llama.cpp: --jinja)",
} as const;

/** Returns one note per kind of content that a server left in the text of a reply. */
export function unparsedNotes(id: string, kinds: Completion["unparsed"] = []): string[] {
  return kinds.map((kind) => {
    const [what, them] = kind === "reasoning" ? ["reasoning", "it"] : ["tool calls", "them"];
    return `The server of ${id} returns ${what} in the reply text. art-e extracted ${them}. To have the server do this, start it with ${SERVER_FLAGS[kind]}.`;
  });
}

export function separateReply(reply: Completion, request: Pick<ModelRequest, "tools" | "messages">): Completion {
  // Almost every reply is plain text or calls, and two tests are faster than the patterns.
  const namesTool = () => request.tools.some(({ name }) => reply.content.includes(name));
  if (!MARKERS.test(reply.content) && !namesTool()) return reply;
  const { text, reasoning } = separateReasoning(reply.content);
  const found = reply.toolCalls.length > 0 || request.tools.length === 0 ? null : readCalls(text, request);
  if (reasoning === "" && found === null) return reply;
  const separated: Completion = {
    ...reply,
    content: text,
    ...(reasoning === "" ? {} : { reasoning: [reply.reasoning, reasoning].filter(Boolean).join("\n\n") }),
    unparsed: compact([reasoning !== "" && "reasoning", found !== null && "tool_call"]),
  };
  if (found === null) return separated;
  if (found.calls.length === 0) return { ...separated, finishReason: "broken_call" };
  const calls = found.calls.map((call) => ({ id: "", ...call }));
  const toolCalls = withUniqueIds(calls, request.messages);
  return { ...separated, content: found.text, toolCalls, finishReason: "tool_calls" };
}

const MARKERS_ANYWHERE = /<[|/｜\w:]|\[(?:TOOL_CALLS|\/?THINK)\]|◁\/?think▷|default_api\./;
const MARKERS_AT_START = /^\s*(?:[Hh]ere(?: is|'s) my thought process|functools\[|\w+\(|`{3}|[{[]|analysis\S)/;
const MARKERS = new RegExp(`${MARKERS_ANYWHERE.source}|${MARKERS_AT_START.source}`);

/** Streamed text that might become one of the markers. */
const UNDECIDED_START = /^\s*(?:\w*|`{1,2}|[Hh]ere(?: |').{0,21})$/;
/** Longer than any marker. Without a limit, a reply without spaces would be searched again for each part. */
const MAX_UNDECIDED = 200;
const UNDECIDED_END = /(?:<|\[[A-Z_/]{0,11}|◁\/?[a-z]{0,5}|\bd\w{0,10})$/;

const TAGS = "(?:seed:)?think|thinking|thought|reasoning";
const COHERE = "<\\|";
const REASONING_TAG = new RegExp(
  `(?<opening><(?:${TAGS})>|\\[THINK\\]|◁think▷|${COHERE}START_THINKING\\|>|<\\|begin_of_thought\\|>)|</(?:${TAGS})>|\\[/THINK\\]|◁/think▷|${COHERE}END_THINKING\\|>|<\\|end_of_thought\\|>`,
  "gi",
);
const FIRST_CALL = /<tool_call>|<function=|\[TOOL_CALLS\]/i;

/**
 * Reads the tags from left to right, because a pattern that matches pairs would take quadratic time on unclosed tags.
 */
export function separateReasoning(content: string): { text: string; reasoning: string } {
  const reasoning: string[] = [];
  const [spoken, thought] = GRANITE.exec(content) ?? [];
  if (spoken !== undefined) reasoning.push(thought ?? "");
  const plain = separateHarmony(content.slice(spoken?.length ?? 0), reasoning);
  let answer = "";
  let from = 0;
  let isOpen = false;
  for (const { 0: tag, index, groups } of plain.matchAll(REASONING_TAG)) {
    const isOpening = groups?.opening !== undefined;
    if (isOpen && isOpening) continue;
    const part = plain.slice(from, index);
    if (isOpening) answer += part;
    else if (isOpen) reasoning.push(part);
    else {
      // The chat templates of DeepSeek-R1 and Qwen3 put the opening tag into the prompt.
      reasoning.push(answer + part);
      answer = "";
    }
    isOpen = isOpening;
    from = index + tag.length;
  }
  const rest = plain.slice(from);
  // Some models call a tool without closing their reasoning.
  const end = isOpen ? rest.search(FIRST_CALL) : 0;
  const cut = end === -1 ? rest.length : end;
  reasoning.push(rest.slice(0, cut));
  const whole = answer + rest.slice(cut);
  const text = ANSWER.exec(whole)?.[2]?.trim() ?? whole;
  const thoughts = reasoning.map((thought) => thought.trim()).filter((thought) => thought !== "");
  return { text: text === content ? content : text.trim(), reasoning: thoughts.join("\n\n") };
}

/** Granite uses introductory phrases instead of tags. */
const GRANITE = /^\s*here(?: is|'s) my thought process:?([\s\S]*?)here(?: is|'s) my response:?/i;

/** Tags of Hunyuan, ERNIE, Cohere and Sky-T1 around the answer after the reasoning. */
const ANSWER =
  /^\s*(?:<(answer|response)>|<\|(?:START_RESPONSE|begin_of_solution)\|>)([\s\S]*?)(?:<\/\1>|<\|(?:END_RESPONSE|end_of_solution)\|>|$)\s*$/;

/** `to=` can precede or follow the channel name. */
const HARMONY =
  /(?:to=(?<before>[\w.-]+)\s*)?<\|channel\|>\s*(?<channel>\w+)(?:\s+to=(?<after>[\w.-]+))?[^<]*(?:<\|constrain\|>\s*\w*\s*)?<\|message\|>(?<body>[\s\S]*?)(?=<\|(?:end|return|call|start|channel)\|>|$)/g;

/** Matches text from servers that strip the special tokens but leave the channel names. */
const STRIPPED_HARMONY =
  /^\s*analysis(?=\S)(?<thought>[\s\S]*?)assistant(?:final(?<final>[\s\S]*)|commentary\s+to=(?<tool>[\w.-]+)\s*(?:json)?(?<body>[\s\S]*))$/;

/**
 * Returns the final channel if there is one, otherwise the remaining text, with calls in the form that `readCalls`
 * reads.
 */
function separateHarmony(content: string, reasoning: string[]): string {
  const stripped = STRIPPED_HARMONY.exec(content)?.groups;
  if (stripped !== undefined) {
    const { thought = "", final, tool = "", body = "" } = stripped;
    reasoning.push(thought);
    return final ?? namedFunction(tool, body);
  }
  if (!content.includes("<|channel|>")) return content;
  const final: string[] = [];
  const other: string[] = [];
  for (const { groups = {} } of content.matchAll(HARMONY)) {
    const { before, after, channel, body = "" } = groups;
    const tool = before ?? after;
    if (tool !== undefined) other.push(namedFunction(tool, body));
    else if (channel === "final") final.push(body);
    else if (channel === "analysis") reasoning.push(body);
    else other.push(body);
  }
  return (other.some((part) => part.startsWith("<function=")) || final.length === 0 ? other : final).join("\n");
}

function namedFunction(tool: string, body: string): string {
  return `<function=${withoutNamespace(tool)}>${body}</function>`;
}

/** Longer than any real call. Bounds the time spent on unclosed tags. */
const MAX_CALL_CHARS = 50_000;

/** The beginning of calls in chat templates: a tag or token for calls, or a module of functions. */
const CALL_MARK =
  /<(?!\/)[^<>\s]*(?:(?:tool|function)[_▁]?calls?|function=|invoke\s|START_ACTION|action_start|tools_prefix|python_tag)|\[TOOL_CALLS\]|^\s*functools\[|(?:print\()?default_api\.|`{3}tool_code\b/i;

/**
 * Reads the calls in a text that consists of them, or has a mark before them. Any other text that gives arguments to a
 * known tool might be an answer that mentions a call, so it is not executed. The model is told once that its call could
 * not be read, and the same again counts as its answer.
 */
function readCalls(text: string, { tools, messages }: Pick<ModelRequest, "tools" | "messages">): FoundCalls | null {
  if (text.length > MAX_CALL_CHARS) return null;
  const byName: Tools = new Map(tools.map((tool) => [tool.name, tool]));
  const [, bare = text] = /^\s*```(?:json|tool_call)?\s*\n([\s\S]*?)```\s*$/.exec(text) ?? [];
  const json = parseJsonOrNull(bare.trim());
  const only = readObjects(Array.isArray(json) ? json : [json], byName) ?? readPythonCalls(bare, byName);
  if (only !== null) return { calls: only, text: "" };
  const start = text.search(CALL_MARK);
  const marked = start === -1 ? null : readMarkedCalls(text.slice(start), byName);
  if (marked !== null) return { calls: marked, text: text.slice(0, start).trim() };
  const last = messages.findLast(({ role }) => role === "assistant");
  const wasTold = last?.role === "assistant" && last.toolCalls.length === 0 && seemsCall(last.content, tools);
  return seemsCall(text, tools) && !wasTold ? { calls: [], text } : null;
}

function seemsCall(text: string, tools: readonly ToolSpec[]): boolean {
  if (text.length > MAX_CALL_CHARS) return false;
  return CALL_MARK.test(text) || tools.some((tool) => givesArguments(text, tool));
}

/** A tool's name that is part of a sentence, such as "I called email_search". */
const IN_SENTENCE = "(?<=\\p{L} +[\\[(\"'`*]*)";

/** Returns whether a text names a tool and one of its parameters with a value, in any notation. */
function givesArguments(text: string, { name, parameters }: ToolSpec): boolean {
  if (!text.includes(name)) return false;
  const keys = isJsonObject(parameters.properties) ? Object.keys(parameters.properties).map(escaped) : [];
  const called = `(?<![\\w-])${escaped(name)}(?![\\w-])`;
  const key = `(?<![\\w-])(?:${keys.join("|")})(?:[\\\\"'\`*]*\\s*[:=>]|["'][^<>\\n]*>|</)`;
  const given = keys.length === 0 ? "(?:\\(\\s*\\)|\\{\\s*\\})" : key;
  const forms = [
    `(?<!${IN_SENTENCE})${called}[^]*?${given}`,
    `${called}[^]*?\\{\\s*["']${given}`,
    `${given}[^]*?["']${called}["']`,
  ];
  return new RegExp(forms.join("|"), "u").test(text);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/**
 * Reads calls as objects that contain the name of a tool and an object of arguments, under any names and at any depth.
 * Returns null unless each object is a call.
 */
function readObjects(items: readonly JsonValue[], tools: Tools): UnidentifiedCall[] | null {
  const calls = items.map((item) => readObject(item, tools));
  return calls.length > 0 && calls.every((call) => call !== null) ? calls : null;
}

function readObject(item: JsonValue, tools: Tools): UnidentifiedCall | null {
  if (!isJsonObject(item)) return null;
  const values = Object.values(item);
  const name = values.find((value) => typeof value === "string" && tools.has(withoutNamespace(value)));
  const inner = values.filter(isJsonObject);
  if (typeof name !== "string") return inner.length === 1 ? readObject(inner[0] ?? null, tools) : null;
  const args = inner[0] ?? values.find((value) => typeof value === "string" && /^[\s"\\]*\{/.test(value));
  return args === undefined ? null : { name: withoutNamespace(name), ...readArguments(args) };
}

/** Reads the calls in a text that begins with a mark: objects, or names of tools with arguments after them. */
function readMarkedCalls(text: string, tools: Tools): UnidentifiedCall[] | null {
  const objects = readObjects(jsonObjectsIn(text), tools);
  if (objects !== null) return objects;
  const names = [...tools.keys()].map(escaped).join("|");
  const found = [...text.matchAll(new RegExp(`(?:[={]\\s*"?|[>\\][(,\\n.:]\\s*)(${names})(?![\\w-])`, "g"))];
  const calls = found.map(({ 0: { length }, 1: name = "", index }, i) => {
    const args = argumentsIn(text.slice(index + length, found[i + 1]?.index), tools.get(name));
    return args === null ? null : { name, ...args };
  });
  return calls.length > 0 && calls.every((call) => call !== null) ? calls : null;
}

/** A parameter with its value, in the tags of most models or in those of GLM. */
const PARAMETER =
  /<[^<>\s]*parameter(?:=|\s+name=)"?([\w.-]+)"?[^<>]*>([\s\S]*?)<\/[^<>\s]*parameter>|<arg_key>([\s\S]*?)<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>/gi;

/** Reads the arguments after a tool's name, or returns null if there are none. */
function argumentsIn(text: string, tool: ToolSpec | undefined): Pick<ToolCall, "arguments" | "invalid"> | null {
  const [, python] = PYTHON_ARGUMENTS.exec(text) ?? [];
  if (python !== undefined) return readPythonArguments(python);
  const tags = [...text.matchAll(PARAMETER)].map(([, key, value, glmKey = "", glmValue = ""]) => {
    const name = (key ?? glmKey).trim();
    return [name, argumentOf(tool, name, (value ?? glmValue).trim())];
  });
  if (tags.length > 0) return readArguments(Object.fromEntries(tags));
  const [object] = jsonObjectsIn(text);
  if (object !== undefined) return { arguments: object };
  return /^"?\s*(?:<[^<>]*>\s*)*$/.test(text) ? { arguments: {} } : null;
}

const PYTHON_LIST = `\\((?<args>(?:[^()"']|"(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*')*)\\)`;
const PYTHON_ARGUMENTS = new RegExp(`^${PYTHON_LIST}`);
const PYTHON_CALL = new RegExp(`\\s*(?<name>[\\w.]+)${PYTHON_LIST}\\s*[,;\\n]?\\s*`, "y");
const PYTHON_ARGUMENT =
  /\s*(?<key>\w+)\s*=\s*(?<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[(?:[^\][]|"[^"]*"|'[^']*')*\]|[-\w.]+)\s*(?:,|$)/y;

/**
 * Reads Python calls such as `[email_search(query="x"), ...]` (Llama 4 and others). Returns null unless the text
 * consists only of calls to known tools.
 */
function readPythonCalls(text: string, tools: Tools): UnidentifiedCall[] | null {
  const body = text.trim().replace(/^\[([\s\S]*)\]$/, "$1");
  const calls: UnidentifiedCall[] = [];
  for (let at = 0; at < body.length; ) {
    PYTHON_CALL.lastIndex = at;
    const match = PYTHON_CALL.exec(body);
    if (match === null) return null;
    const { 0: whole, groups: { name = "", args = "" } = {} } = match;
    if (!tools.has(withoutNamespace(name))) return null;
    calls.push({ name: withoutNamespace(name), ...readPythonArguments(args) });
    at += whole.length;
  }
  return calls.length === 0 ? null : calls;
}

function readPythonArguments(text: string): Pick<ToolCall, "arguments" | "invalid"> {
  const entries: [string, unknown][] = [];
  for (let at = 0; at < text.trimEnd().length; ) {
    PYTHON_ARGUMENT.lastIndex = at;
    const match = PYTHON_ARGUMENT.exec(text);
    if (match === null) return { arguments: {}, invalid: text };
    const { key = "", value = "" } = match.groups ?? {};
    entries.push([key, literalOf(value)]);
    at += match[0].length;
  }
  return readArguments(Object.fromEntries(entries));
}

/** Keeps text if the tool expects a string. Otherwise parses it as a value if possible. */
function argumentOf(tool: ToolSpec | undefined, key: string, text: string): unknown {
  const properties = tool?.parameters.properties;
  const schema = isJsonObject(properties) ? properties[key] : undefined;
  return isJsonObject(schema) && schema.type === "string" ? text : literalOf(text);
}

/** Returns the value of a JSON or Python literal, or other text unchanged. */
function literalOf(text: string): unknown {
  const value = parseJsonOrNull(text) ?? parsePythonOrNull(text);
  return value === null && !/^(?:null|None)$/.test(text) ? text : value;
}

/** Strips the namespace that some models add, following their chat template: `functions.email_search`. */
function withoutNamespace(name: string): string {
  return name.replace(/^functions[./]/, "");
}
