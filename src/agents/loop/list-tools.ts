import type { Tool } from "../../domain/agents/tool.js";

/** The agent's tools as `{{tools}}` puts them into a prompt: one a line, `- id: description`. */
export function listTools(tools: readonly Tool[]): string {
  return tools.map(({ id, description }) => `- ${id}: ${description.replace(/\s+/g, " ")}`).join("\n");
}
