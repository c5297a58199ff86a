import type { ToolSpec } from "../domain/models/model.js";
import type { ExportContext, ExportedTrace } from "./trace-format.js";

/** What providers take for a name. */
const NAME = /^[\w-]{1,64}$/;

/** The tools that the model was told of; where that is not known, those it called, with any arguments. */
export function knownTools(trace: ExportedTrace, context: ExportContext): readonly ToolSpec[] {
  const tools = context.toolsOf(trace);
  if (tools.length > 0) return tools;
  const called = trace.messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []));
  const names = new Set(called.map(({ name }) => name).filter((name) => NAME.test(name)));
  return [...names].map((name) => ({ name, description: "", parameters: {} }));
}
