// Handler of a tool that an MCP server provides.
import { z } from "zod";
import {
  argvSchema,
  cleanEnvironment,
  defineExternalTool,
  environmentName,
  fillInVariables,
  headersSchema,
  limitsShape,
  requireFilled,
  secretsIn,
  ToolFailed,
} from "./external-tool.js";
import type { McpServer } from "./mcp-connections.js";
import type { ExternalResources } from "./tool-connections.js";

/** A stored MCP server, either a program to start or a URL. Secrets are environment variable references. */
export const serverSchema = z.union([
  z.strictObject({
    command: argvSchema,
    /** Environment variables passed in addition to PATH, HOME and LANG. */
    env: z.array(environmentName).max(100).default([]),
  }),
  z.strictObject({
    url: z.url({ protocol: /^https?$/, message: "expected an http or https URL" }),
    headers: headersSchema,
  }),
]);

export type StoredServer = z.output<typeof serverSchema>;

const config = z.strictObject({
  server: serverSchema,
  tool: z.string().min(1),
  ...limitsShape,
});

/** An MCP server's tool. The entire run shares one connection per server. */
export const mcpTool = defineExternalTool({
  config,
  secrets: ({ server }, outside) => secretsOf(server, outside),
  async call({ args, outside, signal, secrets }, { server, tool, timeoutMs }) {
    const { callServerTool } = await import("./mcp-connections.js");
    const connections = await outside.mcp();
    const result = await connections.call(resolveServer(server, outside), signal, secrets, (client) =>
      callServerTool(client, tool, args, { signal, timeout: timeoutMs }),
    );
    if (!result.ok) throw new ToolFailed(result.error);
    return result.value;
  },
});

export function resolveServer(server: StoredServer, { env }: Pick<ExternalResources, "env">): McpServer {
  const unreachable = "Cannot connect to the MCP server";
  return "command" in server
    ? { command: server.command, env: requireFilled(cleanEnvironment(server.env, env), unreachable) }
    : { url: server.url, headers: requireFilled(fillInVariables(server.headers, env), unreachable) };
}

export function secretsOf(server: StoredServer, { env }: Pick<ExternalResources, "env">): readonly string[] {
  return "command" in server ? server.env.flatMap((name) => env[name] ?? []) : secretsIn(server.headers, env);
}
