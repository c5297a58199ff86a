import type { ToolContext } from "../../domain/agents/tool.js";
import type { MailQuery } from "../../store/search/mail-search.js";
import { chooseInbox, type Mailbox, toolError } from "../open-mailbox.js";

/** A search as a tool call asks for it; days are YYYY-MM-DD. */
export interface SearchCall {
  readonly words: string;
  readonly inbox?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly sentAfter?: string | undefined;
  readonly sentBefore?: string | undefined;
  readonly limit: number;
  /** `exact`: a filter is an address; `containing`: it may be part of one, or a name. */
  readonly addressFilter: "exact" | "containing";
}

type BoundQuery = MailQuery & { readonly inboxId: number };

type Prepared = { ok: true; query: BoundQuery } | { ok: true; query: null } | ReturnType<typeof toolError>;

/** Binds a call to the task's inbox and cutoff. `query` null: a filter names an address that no mail has. */
export function prepareQuery(call: SearchCall, context: ToolContext, mailbox: Mailbox): Prepared {
  const inbox = chooseInbox(call.inbox, context, mailbox.addresses);
  if (!inbox.ok) return inbox;
  const from = resolveFilter("from", call.from, call.addressFilter, mailbox);
  const to = resolveFilter("to", call.to, call.addressFilter, mailbox);
  if (!from.ok) return from;
  if (!to.ok) return to;
  if (from.ids?.length === 0 || to.ids?.length === 0) return { ok: true, query: null };
  return {
    ok: true,
    query: {
      words: call.words,
      inboxId: inbox.id,
      fromIds: from.ids,
      toIds: to.ids,
      period: {
        after: call.sentAfter === undefined ? null : `${call.sentAfter}T00:00:00Z`,
        before: earlier(call.sentBefore === undefined ? null : `${call.sentBefore}T00:00:00Z`, context.cutoff),
      },
      limit: call.limit,
      askedAt: context.cutoff,
    },
  };
}

function resolveFilter(
  name: string,
  text: string | undefined,
  how: SearchCall["addressFilter"],
  { addresses }: Mailbox,
): { ok: true; ids: readonly number[] | null } | ReturnType<typeof toolError> {
  if (text === undefined || text.trim() === "") return { ok: true, ids: null };
  if (how === "exact") {
    const id = addresses.idOf(text);
    return { ok: true, ids: id === null ? [] : [id] };
  }
  const match = addresses.matching(text);
  if (match.found === "some") return { ok: true, ids: match.ids };
  if (match.found === "none") return { ok: true, ids: [] };
  return toolError(
    "bad_arguments",
    `"${text}" is part of more than ${match.count - 1} addresses. Give more of the address in "${name}", or leave it out.`,
  );
}

function earlier(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
