import { type Db, withTickTransaction } from "../store/open-store.js";

/** Filters that match more addresses are rejected as too broad. */
const MAX_FILTER_ADDRESSES = 200;

type AddressMatch =
  | { readonly found: "some"; readonly ids: readonly number[] }
  | { readonly found: "none" }
  | { readonly found: "too_many"; readonly count: number };

export interface AddressBook {
  idOf(address: string): number | null;
  /** Returns the address itself if the corpus contains it, otherwise all addresses that contain the text. */
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
      const part = text.trim().toLowerCase().replace(/\s+/g, ".");
      if (part === "") return { found: "none" };
      const ids = inTickTransaction(() => containing.all(part, MAX_FILTER_ADDRESSES + 1)) as number[];
      if (ids.length === 0) return { found: "none" };
      if (ids.length > MAX_FILTER_ADDRESSES) return { found: "too_many", count: ids.length };
      return { found: "some", ids };
    },
  };
}
