import { resolve } from "node:path";
import { PROGRAM } from "./cli/cli-invocation.js";

interface OfferedMailbox {
  readonly inbox: string;
  readonly before?: string | undefined;
}

/**
 * What starts `art-e mcp` for this mailbox, in the form that MCP clients share. Paths are absolute: a client runs in
 * another folder, and often with another PATH.
 */
export function mcpClientConfig({ inbox, before }: OfferedMailbox, db: string) {
  const bound = before === undefined ? [] : ["--before", before];
  const args = [PROGRAM, "mcp", "--inbox", inbox, ...bound, "--db", resolve(db)];
  return { mcpServers: { mail: { command: process.execPath, args } } };
}
