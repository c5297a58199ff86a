import { LRUCache } from "lru-cache";
import type { Db } from "../../store/open-store.js";

export interface SearchableMail {
  /** Returns the mailbox of an address, or all mail if the id is null. */
  mailbox(addressId: number | null): PositionSet;
  /** Returns the emails sent by, or sent to, any of the addresses. */
  withParty(addressIds: readonly number[], role: "sender" | "recipient" | "either"): PositionSet;
  /** Sent time per position in seconds since 1970, or NaN if undated. Set only for members of loaded mailboxes. */
  readonly sentAt: Float64Array;
  /** UTF-8 length of subject and body per position, in bytes. Set only for members of loaded mailboxes. */
  readonly bytes: Uint32Array;
  /** Sums per position during a search, all zero between searches. Allocating arrays per search would take 0.5 ms. */
  readonly scratch: { readonly scores: Float64Array; readonly matched: Uint8Array };
}

type PartyRow = readonly [position: number, isSender: number, isRecipient: number];

/** The mailboxes of all addresses, as positions in date order. */

/** Each column is one JSON array: reading 35,000 separate rows takes twice as long. */
const asColumns = (rows: string) =>
  `SELECT json_group_array(position), json_group_array(sent_at), json_group_array(bytes) FROM (${rows})`;

export const MAILBOX_SQL = {
  mailbox: asColumns(
    `SELECT b.position, unixepoch(o.date) AS sent_at, o.bytes
     FROM mailboxes b CROSS JOIN mail_order o ON o.position = b.position
     WHERE b.address_id = ? ORDER BY b.position`,
  ),
  parties: "SELECT position, is_sender, is_recipient FROM mailboxes WHERE address_id = ? ORDER BY position",
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
  const selectMailbox = db.prepare(MAILBOX_SQL.mailbox).raw();
  const selectAll = db
    .prepare(asColumns("SELECT position, unixepoch(date) AS sent_at, bytes FROM mail_order ORDER BY position"))
    .raw();
  const selectParties = db.prepare(MAILBOX_SQL.parties).raw();
  const total = db.prepare("SELECT coalesce(max(position), 0) FROM mail_order").pluck().get() as number;
  const sentAt = new Float64Array(total + 1).fill(Number.NaN);
  const bytes = new Uint32Array(total + 1);
  const sets = new LRUCache<string, PositionSet>({ max: MAX_KEPT_SETS });
  const remember = (key: string, read: () => PositionSet) => {
    const set = sets.get(key) ?? read();
    sets.set(key, set);
    return set;
  };
  return {
    sentAt,
    bytes,
    scratch: { scores: new Float64Array(total + 1), matched: new Uint8Array(total + 1) },
    mailbox: (addressId) =>
      remember(String(addressId), () => {
        const columns = (addressId === null ? selectAll.get() : selectMailbox.get(addressId)) as string[];
        const [positions, sentPositions, lengths] = columns.map((json) => JSON.parse(json)) as [
          number[],
          (number | null)[],
          number[],
        ];
        for (const [i, position] of positions.entries()) {
          sentAt[position] = sentPositions[i] ?? Number.NaN;
          bytes[position] = lengths[i] as number;
        }
        return new PositionSet(Int32Array.from(positions), total);
      }),
    withParty: (addressIds, role) =>
      remember(`${role} ${addressIds.join()}`, () => {
        const rows = addressIds.flatMap((id) => selectParties.all(id) as PartyRow[]);
        const has = ([, isSender, isRecipient]: PartyRow) =>
          (role !== "recipient" && isSender === 1) || (role !== "sender" && isRecipient === 1);
        // The same email can be from or to several of the addresses.
        const positions = Int32Array.from(rows.filter(has), ([position]) => position).sort();
        return new PositionSet(positions, total);
      }),
  };
}
