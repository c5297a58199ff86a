import type { Tool } from "../../domain/agents/tool.js";

/** The value of `{{tools}}` in a prompt: one tool per line, `- id: description`. */
export function listTools(tools: readonly Tool[]): string {
  return tools.map(({ id, description }) => `- ${id}: ${description.replace(/\s+/g, " ")}`).join("\n");
}
