import type { JsonValue } from "../json.js";
import type { ToolCallRecord } from "./trace.js";

type JsonRecord = { readonly [key: string]: JsonValue };

/** A mail as a tool returned it: its Message-ID, and what else the tool said of it. */
export type ReturnedMail = JsonRecord & { readonly message_id: string };

/** A search is recognised by its result, whatever the tool is called: a list of mails, or one under `emails`. */
export function listedMails({ result }: ToolCallRecord): ReturnedMail[] {
  const list = Array.isArray(result) ? result : isObject(result) ? result.emails : undefined;
  return Array.isArray(list) ? (list as readonly JsonValue[]).filter(hasId) : [];
}

/** Reading is recognised by its result too: one mail with its body. */
export function openedMail({ result }: ToolCallRecord): ReturnedMail | null {
  return isObject(result) && result.body !== undefined && hasId(result) ? result : null;
}

function hasId(value: JsonValue): value is ReturnedMail {
  return isObject(value) && typeof value.message_id === "string";
}

function isObject(value: JsonValue): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
