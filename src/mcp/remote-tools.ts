import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { type JsonObject, type JsonValue, jsonObjectSchema, jsonValueSchema } from "../domain/json.js";

const pageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

const toolSchema = z.object({
  name: z.string().min(1).max(500),
  title: z.string().optional(),
  description: z.string().max(100_000).default(""),
  inputSchema: jsonObjectSchema,
  /** `required`: it can only be called as an MCP task, whose result is polled. */
  execution: z.looseObject({ taskSupport: z.string().optional() }).optional().catch(undefined),
});

export type ServerTool = z.output<typeof toolSchema>;

/** Such a tool rejects the direct calls made here. */
export function isTaskOnly({ execution }: ServerTool): boolean {
  return execution?.taskSupport === "required";
}

const MAX_PAGES = 100;

/** All tools that a server lists; malformed entries are only counted. */
export async function listServerTools(
  client: Client,
  signal: AbortSignal,
  timeout: number,
): Promise<{ tools: ServerTool[]; malformed: number }> {
  const tools: ServerTool[] = [];
  let malformed = 0;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: "tools/list", params }, pageSchema, { signal, timeout });
    for (const listed of answer.tools) {
      const tool = toolSchema.safeParse(listed);
      if (tool.success) tools.push(tool.data);
      else malformed++;
    }
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return { tools, malformed };
}

export type ServerAnswer =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly error: string };

/**
 * Calls a tool of a server. Structured content is the value; else the text of it, read as JSON where it is JSON; what
 * is neither (pictures, sound) is named and left out.
 */
export async function callServerTool(
  client: Client,
  name: string,
  args: JsonObject,
  { signal, timeout }: { signal: AbortSignal; timeout: number },
): Promise<ServerAnswer> {
  const request = { method: "tools/call" as const, params: { name, arguments: args as Record<string, unknown> } };
  const answer = await client.request(request, CallToolResultSchema, { signal, timeout });
  const text = answer.content.map(asText).join("\n");
  if (answer.isError === true) return { ok: false, error: text === "" ? "The tool failed and did not say why." : text };
  if (answer.structuredContent !== undefined) {
    return { ok: true, value: jsonValueSchema.parse(answer.structuredContent) };
  }
  return { ok: true, value: jsonOrText(text) };
}

type Content = z.output<typeof CallToolResultSchema>["content"][number];

function asText(content: Content): string {
  if (content.type === "text") return content.text;
  if (content.type === "resource" && "text" in content.resource) return content.resource.text;
  if (content.type === "resource_link") return content.uri;
  return `[${content.type} left out]`;
}

function jsonOrText(text: string): JsonValue {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return jsonValueSchema.parse(JSON.parse(text));
  } catch {
    return text;
  }
}
