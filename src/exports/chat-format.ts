import type { JsonObject } from "../domain/json.js";
import type { Message } from "../domain/models/conversation.js";
import { type Step, stepsOf } from "../domain/runs/trace-steps.js";
import { openaiMessage, openaiTool } from "./openai-messages.js";
import { knownTools } from "./tools-of-calls.js";
import type { ExportContext, ExportedTrace, LineFormat } from "./trace-format.js";
import { toWellFormedJson } from "./well-formed-json.js";

/** OpenAI refuses a longer example, and fewer of them. */
const MAX_LINE_TOKENS = 65_536;
const MIN_LINES = 10;
const CHARS_PER_TOKEN = 4;

/**
 * Conversations for supervised fine-tuning, one a line: of the traces that end with an answer and in which every call
 * has its result. `openai` writes arguments as text and gives replies that went wrong the weight 0; `hf` writes
 * arguments as objects and knows no weights.
 */
export const chatFormat: LineFormat = {
  *lines(traces, context) {
    const { report, options } = context;
    let lines = 0;
    let tokens = 0;
    for (const trace of traces) {
      const steps = stepsOf(trace);
      const obstacle = obstacleOf(trace, steps, context);
      const line = obstacle === null ? toWellFormedJson(conversation(trace, steps, context)) : "";
      const size = tokensOf(trace, line);
      if (obstacle !== null) report.leaveOut(obstacle);
      else if (size > MAX_LINE_TOKENS) report.leaveOut(`over ${MAX_LINE_TOKENS.toLocaleString("en")} tokens`);
      else {
        lines++;
        tokens += size;
        yield line;
      }
    }
    report.note(`${lines.toLocaleString("en")} lines of about ${tokens.toLocaleString("en")} tokens.`);
    if (options.dialect === "openai" && lines < MIN_LINES) {
      report.note(`Trainers of this format take no fewer than ${MIN_LINES} lines.`);
    }
  },
};

/** Why a trace is no example; null: it is one. */
function obstacleOf(trace: ExportedTrace, steps: readonly Step[], context: ExportContext): string | null {
  if (trace.answer === null || trace.answer.trim() === "") return "no answer";
  if (steps.some(({ otherResults }) => otherResults.length > 0)) return "a result of no call";
  const calls = steps.flatMap((step) => step.calls);
  if (calls.some(({ result }) => result === null)) return "a call without its result";
  const tools = new Set(knownTools(trace, context).map(({ name }) => name));
  if (calls.some(({ call }) => !tools.has(call.name))) return "a call of a tool that is not there";
  const isMalformed = calls.some(({ call }) => call.invalid !== undefined);
  return isMalformed && context.options.dialect === "hf" ? "a call that is no JSON" : null;
}

function conversation(trace: ExportedTrace, steps: readonly Step[], context: ExportContext): JsonObject {
  const { dialect } = context.options;
  const badReplies = new Set<Message>(steps.filter(wentWrong).flatMap(({ reply }) => reply ?? []));
  const own = new Set<Message>(steps.flatMap(({ reply }) => reply ?? []));
  const messages = trace.messages.map((message) => {
    const written = openaiMessage(message, dialect === "openai" ? "text" : "object");
    // Replies of earlier chats are examples of their own.
    const isUnweighted = message.role === "assistant" && (badReplies.has(message) || !own.has(message));
    return dialect === "openai" && isUnweighted ? { ...written, weight: 0 } : written;
  });
  const tools = knownTools(trace, context).map(openaiTool);
  return {
    messages: trace.messages.at(-1)?.role === "assistant" ? messages : [...messages, closing(trace, dialect)],
    ...(tools.length === 0 ? {} : { tools }),
    ...(tools.length === 0 || dialect === "hf" ? {} : { parallel_tool_calls: allowsSeveralCalls(context) }),
  };
}

/** An answer given by a tool is said once more, as readers want the last word to be the assistant's. */
function closing({ answer }: ExportedTrace, dialect: string): JsonObject {
  return { role: "assistant", content: answer, ...(dialect === "openai" ? { weight: 0 } : {}) };
}

function allowsSeveralCalls({ run }: ExportContext): boolean {
  return run?.settings.toolCalls !== "first";
}

/** A reply that was cut off, said nothing, or called a tool in a way that was an error. */
function wentWrong({ reply, turn, calls }: Step): boolean {
  if (reply === null) return false;
  if (turn?.finishReason === "length" || (reply.content.trim() === "" && calls.length === 0)) return true;
  return calls.some(({ call, result }) => call.invalid !== undefined || result?.isError === true);
}

/** As the last reply's provider counted them, prompt and tools included; else by the length of the line. */
function tokensOf(trace: ExportedTrace, line: string): number {
  const usage = trace.turns.findLast((turn) => turn.usage !== null && turn.usage.inputTokens > 0)?.usage;
  return usage ? usage.inputTokens + usage.outputTokens : Math.ceil(line.length / CHARS_PER_TOKEN);
}
