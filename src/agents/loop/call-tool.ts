import type { Tool, ToolContext, ToolResult } from "../../domain/agents/tool.js";
import type { ToolCall, ToolMessage } from "../../domain/models/conversation.js";
import type { ToolCallRecord } from "../../domain/runs/trace.js";

export interface CalledTool {
  readonly message: ToolMessage;
  readonly record: ToolCallRecord;
  readonly result: ToolResult;
}

/**
 * Executes one tool call. Mistakes of the model become error results that say what would be right. A tool that throws
 * is a bug, and propagates so that the agent is not scored for it.
 */
export async function callTool(
  call: ToolCall,
  turn: number,
  tools: ReadonlyMap<string, Tool>,
  context: ToolContext,
): Promise<CalledTool> {
  const startedAt = new Date().toISOString();
  const started = performance.now();
  const result = await attempt(call, tools, context);
  const content = result.ok ? textOf(result) : result.error;
  return {
    result,
    message: toolMessage(call, content, !result.ok),
    record: {
      id: call.id,
      name: call.name,
      arguments: call.arguments,
      result: result.ok ? result.value : null,
      error: result.ok ? null : result.error,
      errorKind: result.ok ? null : result.kind,
      turn,
      startedAt,
      durationMs: performance.now() - started,
    },
  };
}

/** Text is passed on unchanged: as JSON it would be quoted and its line ends escaped. */
function textOf({ value }: Extract<ToolResult, { ok: true }>): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function toolMessage(call: ToolCall, content: string, isError: boolean): ToolMessage {
  return { role: "tool", toolCallId: call.id, name: call.name, content, isError };
}

async function attempt(call: ToolCall, tools: ReadonlyMap<string, Tool>, context: ToolContext): Promise<ToolResult> {
  const tool = tools.get(call.name);
  if (tool === undefined) {
    const known = [...tools.keys()].join(", ");
    return { ok: false, kind: "unknown_tool", error: `There is no tool "${call.name}". The tools are: ${known}.` };
  }
  if (call.invalid !== undefined) {
    return {
      ok: false,
      kind: "unparsable_call",
      error: `The arguments of ${call.name} are not one JSON object. Call it again with valid JSON.`,
    };
  }
  return tool.call(call.arguments, context);
}
