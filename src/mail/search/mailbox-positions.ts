// The mailboxes as sets of positions in date order, held in memory for all searches.
import { LRUCache } from "lru-cache";
import type { Db } from "../../store/open-store.js";

/** The mailboxes of all addresses as positions in date order, and what ranking needs to know about each email. */

export interface SearchableMail {
  /** Returns the mailbox of an address, or all mail if the id is null. */
  mailbox(addressId: number | null): PositionSet;
  /** Returns the emails sent by, or sent to, any of the addresses. */
  withParty(addressIds: readonly number[], role: "sender" | "recipient" | "either"): PositionSet;
  /** Sent time per position in seconds since 1970, or NaN if undated. */
  readonly sentAt: Float64Array;
  /** UTF-8 length of subject and body per position, in bytes. */
  readonly bytes: Uint32Array;
  /** Sums per position during a search, all zero between searches. Allocating arrays per search would take 0.5 ms. */
  readonly scratch: { readonly scores: Float64Array; readonly matched: Uint8Array };
}

/** One JSON array, because reading 35,000 separate rows takes twice as long. */
const positionsWhere = (condition: string) =>
  `SELECT json_group_array(position)
   FROM (SELECT position FROM mailboxes WHERE address_id = ? AND ${condition} ORDER BY position)`;

export const MAILBOX_SQL = {
  mailbox: positionsWhere("TRUE"),
  sender: positionsWhere("is_sender"),
  recipient: positionsWhere("is_recipient"),
  either: positionsWhere("(is_sender OR is_recipient)"),
} as const;

/** A set of emails, identified by position. */
export class PositionSet {
  private readonly bits: Uint8Array;

  /** @param positions in ascending order, which is newest first */
  constructor(
    readonly positions: Int32Array,
    total: number,
  ) {
    this.bits = new Uint8Array((total >> 3) + 1);
    for (const position of positions) {
      const byte = position >> 3;
      this.bits[byte] = (this.bits[byte] as number) | (1 << (position & 7));
    }
  }

  has(position: number): boolean {
    return (((this.bits[position >> 3] as number) >> (position & 7)) & 1) === 1;
  }
}

/** Maximum number of cached sets. A set takes one bit per email in the database and four bytes per member. */
const MAX_KEPT_SETS = 300;

/** Opens the mail for searching. Valid until the next import, which renumbers the positions. */
export function openSearchableMail(db: Db): SearchableMail {
  const { sentAt, bytes } = readColumns(db);
  const total = bytes.length - 1;
  const positionsOf = (addressId: number, role: keyof typeof MAILBOX_SQL) =>
    JSON.parse(db.prepare(MAILBOX_SQL[role]).pluck().get(addressId) as string) as number[];
  const sets = new LRUCache<string, PositionSet>({ max: MAX_KEPT_SETS });
  const remember = (key: string, read: () => number[]) => {
    const set = sets.get(key) ?? new PositionSet(Int32Array.from(read()), total);
    sets.set(key, set);
    return set;
  };
  return {
    sentAt,
    bytes,
    scratch: { scores: new Float64Array(total + 1), matched: new Uint8Array(total + 1) },
    mailbox: (addressId) =>
      remember(String(addressId), () =>
        addressId === null ? Array.from({ length: total }, (_, i) => i + 1) : positionsOf(addressId, "mailbox"),
      ),
    withParty: (addressIds, role) =>
      remember(`${role} ${addressIds.join()}`, () => {
        const positions = addressIds.flatMap((id) => positionsOf(id, role));
        // The same email can be from or to several of the addresses.
        return addressIds.length === 1 ? positions : positions.sort((a, b) => a - b);
      }),
  };
}

/** Reads `mail_columns`. Positions start at 1. */
function readColumns(db: Db): Pick<SearchableMail, "sentAt" | "bytes"> {
  const row = db.prepare("SELECT sent_at, bytes FROM mail_columns").raw().get() as [Buffer, Buffer] | undefined;
  const [times, lengths] = row ?? [Buffer.alloc(0), Buffer.alloc(0)];
  const sentAt = new Float64Array(1 + times.length / 8).fill(Number.NaN, 0, 1);
  const bytes = new Uint32Array(1 + lengths.length / 4);
  // Copied as bytes, because SQLite's buffers are not aligned.
  times.copy(Buffer.from(sentAt.buffer, sentAt.BYTES_PER_ELEMENT));
  lengths.copy(Buffer.from(bytes.buffer, bytes.BYTES_PER_ELEMENT));
  return { sentAt, bytes };
}
