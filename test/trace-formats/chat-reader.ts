import { z } from "zod";

/** The trainers' rules for lines of chats. Throws for a file that one of them rejects. */

const text = z.string();
const toolSchema = z.strictObject({
  type: z.literal("function"),
  function: z.strictObject({
    name: z.string().regex(/^[\w-]{1,64}$/),
    description: text,
    parameters: z.looseObject({ type: z.literal("object"), properties: z.record(text, z.unknown()) }),
  }),
});

function lineSchema(argumentsSchema: z.ZodType, weight: z.ZodRawShape, top: z.ZodRawShape) {
  const call = z.strictObject({
    id: text.min(1),
    type: z.literal("function"),
    function: z.strictObject({ name: text, arguments: argumentsSchema }),
  });
  return z.strictObject({
    messages: z.array(
      z.discriminatedUnion("role", [
        z.strictObject({ role: z.literal("system"), content: text }),
        z.strictObject({ role: z.literal("user"), content: text }),
        z.strictObject({
          role: z.literal("assistant"),
          content: text.nullable(),
          tool_calls: z.array(call).min(1).optional(),
          ...weight,
        }),
        z.strictObject({ role: z.literal("tool"), tool_call_id: text.min(1), content: text }),
      ]),
    ),
    tools: z.array(toolSchema).min(1).optional(),
    ...top,
  });
}

const jsonObject = text.refine((json) => {
  const value: unknown = JSON.parse(json);
  return typeof value === "object" && value !== null && !Array.isArray(value);
}, "arguments are not an object");

const DIALECTS = {
  openai: lineSchema(
    jsonObject,
    { weight: z.union([z.literal(0), z.literal(1)]).optional() },
    { parallel_tool_calls: z.boolean().optional() },
  ),
  hf: lineSchema(z.record(text, z.unknown()), { reasoning_content: text.optional() }, {}),
};

const MIN_LINES = 10;

export function readChats(file: string, dialect: keyof typeof DIALECTS, { minLines = MIN_LINES } = {}) {
  const lines = file.split("\n").filter((line) => line !== "");
  if (lines.length < minLines) throw new Error(`${lines.length} lines are too few`);
  return lines.map((line) => {
    const read = DIALECTS[dialect].parse(JSON.parse(line));
    checkOrder(read);
    return read;
  });
}

/** A result follows its call immediately, and the last message is the assistant's. */
function checkOrder({ messages, tools = [] }: z.output<(typeof DIALECTS)["openai"]>): void {
  let open: string[] = [];
  const known = new Set(tools.map((tool) => tool.function.name));
  for (const message of messages) {
    if (message.role === "tool") {
      const at = open.indexOf(message.tool_call_id);
      if (at === -1) throw new Error(`a tool result without a call ${message.tool_call_id}`);
      open.splice(at, 1);
      continue;
    }
    if (open.length > 0) throw new Error(`no result of ${open.join(", ")}`);
    if (message.role !== "assistant") continue;
    open = (message.tool_calls ?? []).map(({ id }) => id);
    const unknown = (message.tool_calls ?? []).find((call) => !known.has(call.function.name));
    if (unknown !== undefined) throw new Error(`no tool ${unknown.function.name}`);
  }
  if (messages.at(-1)?.role !== "assistant" || open.length > 0) throw new Error("it does not end with the assistant");
}
