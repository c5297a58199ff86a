import { UserError } from "../../domain/errors.js";
import type { JsonValue } from "../../domain/json.js";
import { getTool } from "../../store/registry/tool-rows.js";
import { endOfDay } from "../../store/search/date-range.js";
import { toTool } from "../../tools/load-tools.js";
import { openMailbox } from "../../tools/open-mailbox.js";
import { resolveInbox } from "../chat/resolve-inbox.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

export interface SearchOptions {
  readonly inbox_address: string;
  readonly words: readonly string[];
  readonly limit: number;
  /** best: email_search; newest: search_emails. */
  readonly order: "best" | "newest";
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  /** As for a question of this day: later mail is invisible. */
  readonly cutoff?: string | undefined;
}

/** Calls the tools that agents call: the result is what an agent would see. */
export function searchMailbox(options: SearchOptions, settings: AppSettings): Promise<JsonValue> {
  return withStore(settings, async (db) => {
    const isBest = options.order === "best";
    const id = isBest ? "email_search" : "search_emails";
    const tool = toTool({ tool: getTool(db, id), config: null }, { mailbox: openMailbox(db) });
    const inbox = resolveInbox(db, options.inbox_address);
    const result = await tool.call(isBest ? bestArguments(inbox, options) : newestArguments(options), {
      inbox,
      cutoff: options.cutoff === undefined ? null : endOfDay(options.cutoff),
      signal: new AbortController().signal,
    });
    if (result.ok) return result.value;
    throw new UserError("search_refused", result.error, "See art-e search --help.");
  });
}

function bestArguments(inbox: string, { words, limit, from, to, after, before }: SearchOptions): JsonValue {
  return withoutUndefined({
    query: words.join(" "),
    inbox_id: inbox,
    limit,
    from,
    to,
    sent_after: after,
    sent_before: before,
  });
}

function newestArguments({ words, limit, from, to, after, before }: SearchOptions): JsonValue {
  return withoutUndefined({
    keywords: words,
    max_results: Math.min(limit, 10),
    from_addr: from,
    to_addr: to,
    sent_after: after,
    sent_before: before,
  });
}

function withoutUndefined(args: Readonly<Record<string, JsonValue | undefined>>): JsonValue {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined)) as JsonValue;
}
