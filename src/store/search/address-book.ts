import type { Db } from "../connection/open-store.js";
import { withTickTransaction } from "../connection/transaction-per-tick.js";

/**
 * Tokens of the index's `parties` column. They end in digits, which the Porter stemmer does not change.
 * `in`: the mail lies in the address's mailbox; `from`: sent by it; `to`: to, cc or bcc it.
 */
export const PARTY = {
  in: (addressId: number) => `in${addressId}`,
  from: (addressId: number) => `from${addressId}`,
  to: (addressId: number) => `to${addressId}`,
} as const;

/** A filter that matches more addresses is rejected as too unspecific. */
const MAX_FILTER_ADDRESSES = 200;

export type AddressMatch =
  | { readonly found: "some"; readonly ids: readonly number[] }
  | { readonly found: "none" }
  | { readonly found: "too_many"; readonly count: number };

export interface AddressBook {
  idOf(address: string): number | null;
  /** The address itself if it is in the corpus; otherwise all addresses that contain the text. */
  matching(text: string): AddressMatch;
}

export function openAddressBook(db: Db): AddressBook {
  const exact = db.prepare("SELECT id FROM addresses WHERE address = ?").pluck();
  const containing = db.prepare("SELECT id FROM addresses WHERE instr(address, ?) > 0 LIMIT ?").pluck();
  const inTickTransaction = withTickTransaction(db);
  const idOf = (address: string) =>
    (inTickTransaction(() => exact.get(address.trim().toLowerCase())) as number | undefined) ?? null;
  return {
    idOf,
    matching(text) {
      const id = idOf(text);
      if (id !== null) return { found: "some", ids: [id] };
      // "Kay Mann" matches kay.mann@.
      const wanted = text.trim().toLowerCase().replace(/\s+/g, ".");
      if (wanted === "") return { found: "none" };
      const ids = inTickTransaction(() => containing.all(wanted, MAX_FILTER_ADDRESSES + 1)) as number[];
      if (ids.length === 0) return { found: "none" };
      if (ids.length > MAX_FILTER_ADDRESSES) return { found: "too_many", count: ids.length };
      return { found: "some", ids };
    },
  };
}
