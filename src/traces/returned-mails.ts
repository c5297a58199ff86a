// Finds the emails in the result of a tool call, whatever the tool's name.
import type { JsonValue } from "../platform/json.js";
import type { ToolCallRecord } from "./trace.js";

type JsonRecord = { readonly [key: string]: JsonValue };

/** An email in a tool's result: its Message-ID and any other fields. */
export type ReturnedMail = JsonRecord & { readonly message_id: string };

/** Recognizes a search by its result, not by the tool's name: a list of emails, or a list under `emails`. */
export function listedMails({ result }: Pick<ToolCallRecord, "result">): ReturnedMail[] {
  const list = Array.isArray(result) ? result : isObject(result) ? result.emails : undefined;
  return Array.isArray(list) ? (list as readonly JsonValue[]).filter(hasId) : [];
}

/** Also recognizes an opened email by the result: one email with its body. */
export function openedMail({ result }: Pick<ToolCallRecord, "result">): ReturnedMail | null {
  return isObject(result) && result.body !== undefined && hasId(result) ? result : null;
}

function hasId(value: JsonValue): value is ReturnedMail {
  return isObject(value) && typeof value.message_id === "string";
}

function isObject(value: JsonValue): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
