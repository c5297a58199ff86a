import { z } from "zod";
import type { Tool, ToolContext } from "../domain/agents/tool.js";
import { type JsonObject, type JsonValue, jsonObjectSchema } from "../domain/json.js";
import { formatMail } from "../domain/mail/format-mail.js";
import type { Db } from "../store/connection/open-store.js";
import { getTool } from "../store/registry/tool-rows.js";
import { toTool } from "./load-tools.js";
import { findReadableMail } from "./open-mailbox.js";
import type { ToolResources } from "./tool-handler.js";

const schemaSchema = z.looseObject({
  properties: z.record(z.string(), jsonObjectSchema),
  required: z.array(z.string()),
});

export const MAILBOX_TOOL_IDS = ["email_search", "email_get"];

/** email_search and email_get bound to one mailbox: their inbox_id is filled in and not offered. */
export function singleInboxTools(db: Db, resources: ToolResources): Tool[] {
  return MAILBOX_TOOL_IDS.map((id) => withoutInbox(toTool({ tool: getTool(db, id), config: null }, resources)));
}

function withoutInbox(tool: Tool): Tool {
  const { properties, required, ...rest } = schemaSchema.parse(tool.parameters);
  const { inbox_id, ...others } = properties;
  if (inbox_id === undefined) return tool;
  return {
    id: tool.id,
    description: tool.description,
    parameters: { ...rest, properties: others, required: required.filter((name) => name !== "inbox_id") } as JsonObject,
    call: (args, context) => tool.call(withInbox(args, context.inbox), context),
  };
}

/** Fills in inbox_id for a tool that has it. */
export function addInboxArgument(
  { parameters }: Pick<Tool, "parameters">,
  args: JsonValue,
  inbox: string | null,
): JsonValue {
  const { success, data } = schemaSchema.partial().safeParse(parameters);
  return success && data.properties?.inbox_id !== undefined ? withInbox(args, inbox) : args;
}

function withInbox(args: JsonValue, inbox: string | null): JsonValue {
  const object = jsonObjectSchema.safeParse(args);
  return object.success && inbox !== null ? { inbox_id: inbox, ...object.data } : args;
}

/** A mail of the context's mailbox as a text with its headers; null if it is not visible. */
export function readMailText(messageId: string, context: ToolContext, { mailbox }: ToolResources): string | null {
  const readable = findReadableMail(messageId, context, mailbox);
  if (!readable.ok) return null;
  return formatMail(readable.mail);
}
