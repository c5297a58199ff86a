import { isJsonObject, parseJsonOrNull } from "../platform/json.js";
import type { Completion, Model, ModelRequest, ReplyDelta, ToolCall, ToolSpec } from "./model.js";
import { readArguments, uniqueIds } from "./tool-calls.js";

type UnidentifiedCall = Omit<ToolCall, "id">;

type FoundCalls =
  | { readonly kind: "none" }
  /** A call in an unknown form or to an unknown tool. */
  | { readonly kind: "unreadable" }
  | { readonly kind: "calls"; readonly calls: readonly UnidentifiedCall[]; readonly text: string };

/** Notation of tool calls. `read` returns null if the text between the marks is unreadable. */
interface CallFormat {
  readonly pattern: RegExp;
  read(groups: Readonly<Record<string, string | undefined>>, tools: Tools): UnidentifiedCall[] | null;
}

type Tools = ReadonlyMap<string, ToolSpec>;

/**
 * Extracts the reasoning and tool calls that a server without the right parser leaves in the text of a reply, in the
 * tokens of the model's chat template. This way, reasoning is never taken for an answer, and every call is either made
 * or rejected.
 *
 * The formats follow vLLM's reasoning and tool parsers (https://docs.vllm.ai/en/latest/features/tool_calling.html) and
 * the harmony format (https://cookbook.openai.com/articles/openai-harmony).
 */

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

/** Decorates a model: if its server leaves reasoning or tool calls in the text, reports that once per kind. */
export function noteUnparsedReplies(model: Model, note: (text: string) => void): Model {
  const noted = new Set<string>();
  return {
    id: model.id,
    async complete(request, signal) {
      const reply = await model.complete(request, signal);
      for (const kind of reply.unparsed ?? []) {
        if (!noted.has(kind)) note(unparsedNote(model.id, kind));
        noted.add(kind);
      }
      return reply;
    },
  };
}

function unparsedNote(id: string, kind: keyof typeof SERVER_FLAGS): string {
  const what = kind === "reasoning" ? "reasoning" : "tool calls";
  return `The server of ${id} returns ${what} in the reply text. art-e extracted ${kind === "reasoning" ? "it" : "them"}. To have the server do this, start it with ${SERVER_FLAGS[kind]}.`;
}

export function separateReply(reply: Completion, request: Pick<ModelRequest, "tools" | "messages">): Completion {
  // Almost every reply is plain text or calls, and one test is faster than the patterns of all formats.
  if (!MARKERS.test(reply.content)) return reply;
  const { text, reasoning } = separateReasoning(reply.content);
  const textCalls =
    reply.toolCalls.length > 0 || request.tools.length === 0 ? NO_CALLS : readCalls(text, request.tools);
  if (reasoning === "" && textCalls.kind === "none") return reply;
  const separated: Completion = {
    ...reply,
    content: text,
    ...(reasoning === "" ? {} : { reasoning: [reply.reasoning, reasoning].filter(Boolean).join("\n\n") }),
    unparsed: [
      ...(reasoning === "" ? [] : (["reasoning"] as const)),
      ...(textCalls.kind === "none" ? [] : (["tool_call"] as const)),
    ],
  };
  switch (textCalls.kind) {
    case "none":
      return separated;
    case "unreadable":
      return { ...separated, finishReason: "broken_call" };
    case "calls": {
      const ids = uniqueIds(
        textCalls.calls.map(() => ""),
        request.messages,
      );
      const toolCalls = textCalls.calls.map((call, i) => ({ id: ids[i] ?? "", ...call }));
      return { ...separated, content: textCalls.text, toolCalls, finishReason: "tool_calls" };
    }
  }
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
  const text = unwrapped(answer + rest.slice(cut));
  const thoughts = reasoning.map((thought) => thought.trim()).filter((thought) => thought !== "");
  return { text: text === content ? content : text.trim(), reasoning: thoughts.join("\n\n") };
}

/** Granite uses introductory phrases instead of tags. */
const GRANITE = /^\s*here(?: is|'s) my thought process:?([\s\S]*?)here(?: is|'s) my response:?/i;

/** Tags of Hunyuan, ERNIE, Cohere and Sky-T1 around the answer after the reasoning. */
const ANSWER =
  /^\s*(?:<answer>([\s\S]*?)(?:<\/answer>|$)|<response>([\s\S]*?)(?:<\/response>|$)|<\|START_RESPONSE\|>([\s\S]*?)(?:<\|END_RESPONSE\|>|$)|<\|begin_of_solution\|>([\s\S]*?)(?:<\|end_of_solution\|>|$))\s*$/;

function unwrapped(text: string): string {
  return (
    ANSWER.exec(text)
      ?.slice(1)
      .find((part) => part !== undefined)
      ?.trim() ?? text
  );
}

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

const NO_CALLS: FoundCalls = { kind: "none" };

const CALL_FORMATS: readonly CallFormat[] = [
  // Hermes and Qwen: JSON. Qwen3-Coder: <function=...>. GLM: the name, followed by <arg_key> and <arg_value>.
  {
    pattern: /<(?<tag>tool_calls?|function_call|toolcall)>(?<body>[\s\S]*?)(?:<\/\k<tag>>|$)/gi,
    read: ({ body = "" }, tools) =>
      readJsonCalls(body) ?? readEach(body, NAMED_FUNCTION, readNamed, tools) ?? readGlm(body, tools),
  },
  // Llama 3.1 and Qwen3-Coder without its wrapper.
  { pattern: /<function=(?<name>[\w.-]+)>(?<body>[\s\S]*?)(?:<\/function>|$)/gi, read: readNamed },
  // Anthropic's former format, MiniMax, and DeepSeek's DSML, which prefixes each tag.
  {
    pattern:
      /<(?<mark>[^<>\s]*)(?:function_calls|tool_call)>(?=\s*<[^<>\s]*invoke\b)(?<body>[\s\S]*?)(?:<\/\k<mark>(?:function_calls|tool_call)>|$)/gi,
    read: ({ body = "" }, tools) => readEach(body, INVOKE, readNamed, tools),
  },
  {
    pattern: /<(?<mark>[^<>\s]*)invoke\s+name="(?<name>[^"]+)"[^<>]*>(?<body>[\s\S]*?)(?:<\/\k<mark>invoke>|$)/gi,
    read: readNamed,
  },
  // Mistral: an array, or a name followed by arguments.
  {
    pattern: /\[TOOL_CALLS\]\s*(?<body>[\s\S]*)$/g,
    read: ({ body = "" }, tools) => readJsonCalls(body) ?? readEach(body, MISTRAL_CALL, readNamed, tools),
  },
  // Kimi K2.
  {
    pattern:
      /(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>(?<body>[\s\S]*?)(?:<\|tool_calls_section_end\|>|$)/g,
    read: ({ body = "" }, tools) => readEach(body, KIMI_CALL, readNamed, tools),
  },
  // DeepSeek V3 and R1. V3.1 omits the word "function" and the fence.
  {
    pattern: /<｜tool▁calls▁begin｜>(?<body>[\s\S]*?)(?:<｜tool▁calls▁end｜>|$)/g,
    read: ({ body = "" }, tools) => readEach(body, DEEPSEEK_CALL, readNamed, tools),
  },
  // Cohere, Granite, Phi-4 and InternLM: JSON after a mark.
  {
    pattern:
      /(?:<\|START_ACTION\|>|<\|tool_call\|>|^\s*functools(?=\[)|<\|action_start\|>\s*<\|plugin\|>)(?<body>[\s\S]*?)(?:<\|END_ACTION\|>|<\|action_end\|>|$)/g,
    read: ({ body = "" }) => readJsonCalls(body),
  },
  // Olmo 3: calls in Python.
  {
    pattern: /<function_calls>(?<body>[\s\S]*?)(?:<\/function_calls>|$)/g,
    read: ({ body = "" }, tools) => readPythonCalls(body, tools),
  },
  // Gemma 4, FunctionGemma and Apertus.
  { pattern: /<\|tool_call>[\s\S]*$|<start_function_call>[\s\S]*$|<\|tools_prefix\|>[\s\S]*$/g, read: () => null },
  { pattern: /<\|python_tag\|>(?<body>[\s\S]*)$/g, read: ({ body = "" }) => readJsonCalls(body) },
  // Python calls of Gemini and Gemma.
  { pattern: /(?:print\()?default_api\.(?<name>\w+)\([\s\S]*$|```tool_code\b[\s\S]*$/g, read: () => null },
];

const NAMED_FUNCTION = /<function=(?<name>[\w.-]+)>(?<body>[\s\S]*?)(?:<\/function>|$)/gi;
const INVOKE = /<[^<>\s]*invoke\s+name="(?<name>[^"]+)"[^<>]*>(?<body>[\s\S]*?)(?:<\/[^<>\s]*invoke>|$)/gi;
const MISTRAL_CALL =
  /(?:^|\[TOOL_CALLS\])\s*(?<name>[\w.-]+)\s*(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?<body>\{[\s\S]*?\})\s*(?=\[TOOL_CALLS\]|$)/g;
const KIMI_CALL =
  /(?:^|<\|tool_call_begin\|>)\s*(?<name>[\w.-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>(?<body>[\s\S]*?)(?:<\|tool_call_end\|>|$)/g;
const DEEPSEEK_CALL =
  /<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?(?<name>[\w.-]+)(?:<｜tool▁sep｜>)?\s*(?:```(?:json)?)?(?<body>[\s\S]*?)(?:```)?\s*(?:<｜tool▁call▁end｜>|$)/g;

/** Longer than any real call. Bounds the time spent on unclosed tags. */
const MAX_CALL_CHARS = 50_000;

function readCalls(text: string, tools: readonly ToolSpec[]): FoundCalls {
  if (text.length > MAX_CALL_CHARS) return NO_CALLS;
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  const bare = readBareCalls(text, byName);
  if (bare !== null) return { kind: "calls", calls: bare, text: "" };
  for (const { pattern, read } of CALL_FORMATS) {
    const matches = [...text.matchAll(pattern)];
    if (matches.length === 0) continue;
    const calls = matches.map(({ groups = {} }) => read(groups, byName));
    if (calls.some((call) => call === null)) return { kind: "unreadable" };
    const all = calls.flatMap((call) => call ?? []).map((call) => ({ ...call, name: withoutNamespace(call.name) }));
    if (all.length === 0 || !all.every(({ name }) => byName.has(name))) return { kind: "unreadable" };
    return { kind: "calls", calls: all, text: text.replace(pattern, "").trim() };
  }
  return NO_CALLS;
}

/** Reads text that consists only of a call, with or without a fence. Any other JSON might be an answer. */
function readBareCalls(text: string, tools: Tools): UnidentifiedCall[] | null {
  const [, fenced = text] = /^\s*```(?:json|tool_call)?\s*\n([\s\S]*?)```\s*$/.exec(text) ?? [];
  const python = readPythonCalls(fenced, tools);
  if (python !== null) return python;
  if (!/^\s*[{[]/.test(fenced)) return null;
  const calls = readJsonCalls(fenced)?.map((call) => ({ ...call, name: withoutNamespace(call.name) }));
  return calls?.every(({ name }) => tools.has(name)) ? calls : null;
}

/**
 * Reads one call or an array of calls as `{name, arguments}` under any of the usual names. Returns null if the JSON is
 * not a call.
 */
function readJsonCalls(text: string): UnidentifiedCall[] | null {
  const parsed = parseJsonOrNull(text.trim());
  const items = Array.isArray(parsed) ? parsed : [parsed];
  const calls = items.map((item) => {
    const outer = isJsonObject(item) ? item : {};
    const call = isJsonObject(outer.function) ? outer.function : outer;
    const name = call.name ?? call.tool_name ?? outer.function;
    const args = call.arguments ?? call.parameters ?? call.args;
    return typeof name === "string" && args !== undefined ? { name, ...readArguments(args) } : null;
  });
  return calls.length > 0 && calls.every((call) => call !== null) ? calls : null;
}

const PYTHON_CALL = /\s*(?<name>[\w.]+)\((?<args>(?:[^()"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*)\)\s*[,;\n]?\s*/y;
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
    entries.push([key, pythonValue(value)]);
    at += match[0].length;
  }
  return readArguments(Object.fromEntries(entries));
}

function pythonValue(text: string): unknown {
  const json = text
    .replace(/'((?:[^'\\]|\\.)*)'|"(?:[^"\\]|\\.)*"/g, (whole, single?: string) =>
      single === undefined ? whole : JSON.stringify(single.replace(/\\'/g, "'")),
    )
    .replace(/^(True|False|None)$/, (word) => ({ True: "true", False: "false", None: "null" })[word] ?? word);
  const value = parseJsonOrNull(json);
  return value === null && json !== "null" ? text : value;
}

function readEach(body: string, pattern: RegExp, read: CallFormat["read"], tools: Tools): UnidentifiedCall[] | null {
  const calls = [...body.matchAll(pattern)].map(({ groups = {} }) => read(groups, tools));
  if (calls.length === 0 || calls.some((call) => call === null)) return null;
  return calls.flatMap((call) => call ?? []);
}

const PARAMETER = /<[^<>\s]*parameter(?:=|\s+name=)"?(?<key>[\w.-]+)"?[^<>]*>(?<value>[\s\S]*?)<\/[^<>\s]*parameter>/gi;

/** Reads a call whose name is already known and whose arguments are JSON or one tag per parameter. */
function readNamed({ name = "", body = "" }: Parameters<CallFormat["read"]>[0], tools: Tools): UnidentifiedCall[] {
  const text = body.trim();
  if (text === "" || text.startsWith("{")) return [{ name, ...readArguments(text) }];
  const tool = tools.get(withoutNamespace(name));
  const entries = [...text.matchAll(PARAMETER)].map(({ groups: { key = "", value = "" } = {} }) => [
    key,
    argumentOf(tool, key, value),
  ]);
  return entries.length === 0
    ? [{ name, ...readArguments(text) }]
    : [{ name, ...readArguments(Object.fromEntries(entries)) }];
}

const GLM_ARGUMENT = /<arg_key>(?<key>[\s\S]*?)<\/arg_key>\s*<arg_value>(?<value>[\s\S]*?)<\/arg_value>/g;

function readGlm(body: string, tools: Tools): UnidentifiedCall[] | null {
  const [, name] = /^\s*([\w.-]+)\s*(?:<arg_key>|$)/.exec(body) ?? [];
  if (name === undefined) return null;
  const entries = [...body.matchAll(GLM_ARGUMENT)].map(({ groups: { key = "", value = "" } = {} }) => [
    key.trim(),
    argumentOf(tools.get(name), key.trim(), value),
  ]);
  return [{ name, ...readArguments(Object.fromEntries(entries)) }];
}

/** Keeps text if the tool expects a string. Otherwise parses it as JSON if possible. */
function argumentOf(tool: ToolSpec | undefined, key: string, value: string): unknown {
  const properties = tool?.parameters.properties;
  const schema = isJsonObject(properties) ? properties[key] : undefined;
  const text = value.trim();
  if (isJsonObject(schema) && schema.type === "string") return text;
  const parsed = parseJsonOrNull(text);
  return parsed === null && text !== "null" ? text : parsed;
}

/** Strips the namespace that some models add, following their chat template: `functions.email_search`. */
function withoutNamespace(name: string): string {
  return name.replace(/^functions[./]/, "");
}
