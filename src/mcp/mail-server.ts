import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  CompleteRequestSchema,
  ErrorCode,
  type Tool as ListedTool,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Tool, ToolResult } from "../domain/agents/tool.js";
import { type JsonValue, jsonValueSchema } from "../domain/json.js";
import { bareMessageId } from "../domain/mail/message-id.js";

/** One mail in a list. */
export interface ListedMail {
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly date: string | null;
  /** Cursor of the next page. */
  readonly cursor: number;
}

/** Port: the readable mails. */
export interface MailListing {
  /** Newest first, those after `cursor`. */
  list(cursor: number | null, limit: number): readonly ListedMail[];
  /** The mail as a text; null if it is not visible. */
  read(messageId: string): string | null;
  /** Message-IDs with this prefix. */
  complete(prefix: string, limit: number): { readonly ids: readonly string[]; readonly hasMore: boolean };
}

/** What a server offers: one mailbox, read-only, or the tools of one task. */
export interface MailOffer {
  readonly version: string;
  readonly instructions: string;
  readonly tools: readonly Tool[];
  /** Whether no tool changes anything. */
  readonly isReadOnly: boolean;
  call(name: string, args: JsonValue, signal: AbortSignal): Promise<ToolResult>;
  /** Null: no resources. */
  readonly shelf: MailListing | null;
}

const PAGE = 50;
/** The protocol's own bound. */
const MAX_COMPLETIONS = 100;
const SCHEME = "mail://";
const RESOURCE_NOT_FOUND = -32002;

/** A server for one client. */
export function mailServer(offer: MailOffer): Server {
  const { shelf, instructions } = offer;
  const capabilities = { tools: {}, ...(shelf === null ? {} : { resources: {}, completions: {} }) };
  const server = new Server({ name: "art-e", version: offer.version }, { capabilities, instructions });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: offer.tools.map((tool) => listed(tool, offer.isReadOnly)),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const args = jsonValueSchema.safeParse(params.arguments ?? {});
    return toCallResult(await offer.call(params.name, args.success ? args.data : {}, signal));
  });
  if (shelf !== null) offerMails(server, shelf);
  return server;
}

function listed({ id, description, parameters }: Tool, isReadOnly: boolean): ListedTool {
  return {
    name: id,
    description,
    inputSchema: parameters as unknown as ListedTool["inputSchema"],
    annotations: { readOnlyHint: isReadOnly, openWorldHint: false },
  };
}

function toCallResult(result: ToolResult): CallToolResult {
  if (!result.ok) return { content: [{ type: "text", text: result.error }], isError: true };
  const { value } = result;
  const content: CallToolResult["content"] = [{ type: "text", text: JSON.stringify(value) }];
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? { content, structuredContent: value as Record<string, unknown> } : { content };
}

function offerMails(server: Server, shelf: MailListing): void {
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
    const mails = shelf.list(readCursor(params?.cursor), PAGE);
    const last = mails.length === PAGE ? mails.at(-1) : undefined;
    return { resources: mails.map(toResource), ...(last === undefined ? {} : { nextCursor: String(last.cursor) }) };
  });
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      {
        uriTemplate: `${SCHEME}{message_id}`,
        name: "mail",
        description: "One mail of the mailbox, by its Message-ID without the angle brackets",
        mimeType: "text/plain",
      },
    ],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const text = shelf.read(messageIdOf(uri));
    if (text === null) throw new McpError(RESOURCE_NOT_FOUND, `There is no mail ${uri} in this mailbox.`, { uri });
    return { contents: [{ uri, mimeType: "text/plain", text }] };
  });
  server.setRequestHandler(CompleteRequestSchema, ({ params: { ref, argument } }) => {
    if (ref.type !== "ref/resource" || argument.name !== "message_id") return { completion: { values: [] } };
    const { ids, hasMore } = shelf.complete(argument.value, MAX_COMPLETIONS);
    return { completion: { values: ids.map(bare), hasMore } };
  });
}

function toResource({ messageId, subject, sender, date }: ListedMail) {
  return {
    uri: `${SCHEME}${encodeURIComponent(bareMessageId(messageId))}`,
    name: subject === "" ? "(no subject)" : subject,
    description: `${date?.slice(0, 10) ?? "no date"}, from ${sender}`,
    mimeType: "text/plain",
  };
}

function bare(messageId: string): string {
  return messageId.replace(/^<|>$/g, "");
}

function messageIdOf(uri: string): string {
  try {
    if (uri.startsWith(SCHEME)) return `<${bare(decodeURIComponent(uri.slice(SCHEME.length)))}>`;
  } catch {
    // Invalid percent-encoding: no such mail.
  }
  throw new McpError(ErrorCode.InvalidParams, `A mail is read as ${SCHEME}MESSAGE-ID, not as ${uri}.`);
}

function readCursor(cursor: string | undefined): number | null {
  if (cursor === undefined) return null;
  const position = z.coerce.number().int().nonnegative().safeParse(cursor);
  if (position.success) return position.data;
  throw new McpError(ErrorCode.InvalidParams, "This cursor is none of a list given here.");
}
