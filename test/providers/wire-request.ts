import { z } from "zod";

/** The four wire formats that the fake provider supports. */
export type WireFormat = "anthropic" | "openai-chat" | "openai-responses" | "google";

export const WIRE_FORMATS: readonly WireFormat[] = ["anthropic", "openai-chat", "openai-responses", "google"];

type SeenMessage =
  | { readonly role: "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly toolCalls: readonly SeenCall[] }
  | { readonly role: "tool"; readonly toolCallId: string; readonly content: string; readonly isError: boolean };

interface SeenCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
}

/**
 * A request in provider-neutral form. Google's calls are without ids, so the tool's name replaces it there and in the
 * results.
 */
export interface ParsedRequest {
  readonly format: WireFormat;
  readonly model: string;
  readonly system: string;
  readonly messages: readonly SeenMessage[];
  /** Names, in the order of the request. */
  readonly tools: readonly string[];
  /** Number of the model's replies so far in this conversation. */
  readonly turn: number;
  /** The first user message. */
  readonly question: string;
  /** The results of the last turn's calls, in order. */
  readonly results: readonly (SeenMessage & { role: "tool" })[];
}

const text = z.string();
const json = z.record(z.string(), z.unknown());

/** Throws if the body is not in the format, so that a test sees a 400. */
export function parseRequest(format: WireFormat, path: string, body: unknown): ParsedRequest {
  const parsed = PARSERS[format](json.parse(body), path);
  const turn = parsed.messages.filter((message) => message.role === "assistant").length;
  const question = parsed.messages.find((message) => message.role === "user")?.content ?? "";
  const last = parsed.messages.findLastIndex((message) => message.role === "assistant");
  const results = parsed.messages.slice(last + 1).filter((message) => message.role === "tool");
  return { format, ...parsed, turn, question, results };
}

type Parsed = Pick<ParsedRequest, "model" | "system" | "messages" | "tools">;
type Body = Record<string, unknown>;

const PARSERS: Record<WireFormat, (body: Body, path: string) => Parsed> = {
  anthropic: (body) => ({
    model: text.parse(body.model),
    system: texts(body.system),
    tools: names(body.tools),
    messages: list(body.messages).flatMap(({ role, content }, i): SeenMessage[] => {
      const blocks = list(content);
      if (role === "assistant" && /thinking$/.test(String(blocks.at(-1)?.type))) {
        throw new Error(`messages.${i}: The final block in an assistant message cannot be \`thinking\`.`);
      }
      const results = blocks
        .filter(({ type }) => type === "tool_result")
        .map((block) => ({
          role: "tool" as const,
          toolCallId: text.parse(block.tool_use_id),
          content: String(block.content ?? ""),
          isError: block.is_error === true,
        }));
      const calls = blocks
        .filter(({ type }) => type === "tool_use")
        .map(({ id, name, input }) => ({ id: text.parse(id), name: text.parse(name), arguments: input }));
      return turnOf(role === "assistant", texts(blocks), calls, results);
    }),
  }),

  "openai-chat": (body) => {
    const messages = list(body.messages);
    return {
      model: text.parse(body.model),
      system: String(messages.find(({ role }) => role === "system")?.content ?? ""),
      tools: list(body.tools).map((tool) => text.parse(json.parse(tool.function).name)),
      messages: messages
        .filter(({ role }) => role !== "system")
        .flatMap((message): SeenMessage[] => {
          const content = String(message.content ?? "");
          if (message.role === "tool") {
            return [{ role: "tool", toolCallId: text.parse(message.tool_call_id), content, isError: false }];
          }
          const calls = list(message.tool_calls).map((call) => openaiCall(call.id, json.parse(call.function)));
          return turnOf(message.role === "assistant", content, calls, []);
        }),
    };
  },

  "openai-responses": (body) => {
    const messages: SeenMessage[] = [];
    const items = list(body.input);
    for (const [i, item] of items.entries()) {
      const last = messages.at(-1);
      const next = items.slice(i).find(({ type }) => type !== "reasoning");
      if (
        item.type === "reasoning" &&
        (next === undefined || next.role === "user" || next.type === "function_call_output")
      ) {
        throw new Error(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`);
      }
      const calls = item.type === "function_call" ? [openaiCall(item.call_id, item)] : [];
      if (item.type === "function_call_output") {
        const content = text.parse(item.output);
        messages.push({ role: "tool", toolCallId: text.parse(item.call_id), content, isError: false });
      } else if (item.role === "user") {
        messages.push({ role: "user", content: text.parse(item.content) });
      } else if (last?.role === "assistant") {
        // Reasoning, text and calls of one reply are adjacent items.
        const content = last.content + texts(item.content);
        messages[messages.length - 1] = { role: "assistant", content, toolCalls: [...last.toolCalls, ...calls] };
      } else {
        messages.push({ role: "assistant", content: texts(item.content), toolCalls: calls });
      }
    }
    return {
      model: text.parse(body.model),
      system: String(body.instructions ?? ""),
      tools: names(body.tools),
      messages,
    };
  },

  google: (body, path) => ({
    model: decodeURIComponent(/\/models\/(.+):generateContent/.exec(path)?.[1] ?? ""),
    system: texts(json.parse(body.systemInstruction ?? {}).parts),
    tools: list(body.tools).flatMap((tool) => names(tool.functionDeclarations)),
    messages: list(body.contents).flatMap(({ role, parts }): SeenMessage[] => {
      const results = list(parts)
        .filter((part) => part.functionResponse !== undefined)
        .map((part) => {
          const { name, id, response } = json.parse(part.functionResponse);
          const { output, error } = json.parse(response);
          const said = error ?? output;
          const content = typeof said === "string" ? said : JSON.stringify(said);
          return { role: "tool" as const, toolCallId: String(id ?? name), content, isError: error !== undefined };
        });
      const calls = list(parts)
        .filter((part) => part.functionCall !== undefined)
        .map((part) => json.parse(part.functionCall))
        .map(({ id, name, args }) => ({ id: String(id ?? name), name: text.parse(name), arguments: args }));
      return turnOf(role === "model", texts(parts), calls, results);
    }),
  }),
};

function turnOf(
  byModel: boolean,
  content: string,
  toolCalls: readonly SeenCall[],
  results: readonly SeenMessage[],
): SeenMessage[] {
  if (byModel) return [{ role: "assistant", content, toolCalls }];
  return content === "" ? [...results] : [...results, { role: "user", content }];
}

function openaiCall(id: unknown, call: Body): SeenCall {
  const raw = text.parse(call.arguments);
  try {
    return { id: text.parse(id), name: text.parse(call.name), arguments: JSON.parse(raw) };
  } catch {
    return { id: text.parse(id), name: text.parse(call.name), arguments: raw };
  }
}

function list(value: unknown): Body[] {
  return typeof value === "string" ? [{ type: "text", text: value }] : z.array(json).parse(value ?? []);
}

function texts(value: unknown): string {
  return list(value)
    .filter((part) => part.thought !== true)
    .map((part) => (typeof part.text === "string" ? part.text : ""))
    .join("");
}

function names(tools: unknown): string[] {
  return list(tools).map((tool) => text.parse(tool.name));
}
