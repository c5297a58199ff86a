// Writes emails to their tables, and recognizes copies of stored ones.
import type { Db } from "../../store/open-store.js";
import { bigramText } from "../../text/tokenizer.js";
import type { CorpusFormat } from "../email.js";
import { mergeNames } from "./display-names.js";
import type { StorableMail } from "./storable-mail.js";

/**
 * Result of adding an email. `new`: new content. `copy`: known content under a new Message-ID. `known`: both are
 * already stored. `renamed`: the Message-ID belongs to a different email, so one of the two got a suffix of `~` and
 * eight digits of its content hash. The smaller hash keeps the id, because the reading order differs between formats.
 */
export type InsertOutcome = "new" | "copy" | "known" | "renamed";

interface CorpusWriter {
  /** Adds an email. `content` can be null if an email with the same hash was added before. */
  add(mail: StorableMail): InsertOutcome;
  /** Whether any added email affects the index. */
  readonly changed: boolean;
}

interface StoredMessage {
  readonly mailId: number;
  readonly path: string;
  readonly hash: Buffer;
}

/** Returns a writer that adds mail inside the caller's transaction. */
export function openCorpusWriter(
  db: Db,
  about: { source: string; format: CorpusFormat; filter: string },
): CorpusWriter {
  const importId = db
    .prepare("INSERT INTO imports (source, format, filter, started_at) VALUES (?, ?, ?, ?)")
    .run(about.source, about.format, about.filter, new Date().toISOString()).lastInsertRowid;
  const findMail = db.prepare("SELECT id FROM mails WHERE content_hash = ?").pluck();
  const findMessage = db.prepare(
    `SELECT x.mail_id AS mailId, x.path, m.content_hash AS hash
     FROM messages x JOIN mails m ON m.id = x.mail_id WHERE x.message_id = ?`,
  );
  const addMail = db.prepare(
    `INSERT INTO mails (content_hash, subject, sender, recipients, to_count, cc_count, date, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const addBigrams = db.prepare("INSERT INTO mail_bigrams (mail_id, bigrams) VALUES (?, ?)");
  const findNames = db.prepare("SELECT names FROM mail_names WHERE mail_id = ?").pluck();
  const setNames = db.prepare(
    "INSERT INTO mail_names (mail_id, names) VALUES (?, ?) ON CONFLICT (mail_id) DO UPDATE SET names = excluded.names",
  );
  const findReferences = db.prepare("SELECT ids FROM mail_references WHERE mail_id = ?").pluck();
  const setReferences = db.prepare("INSERT OR REPLACE INTO mail_references (mail_id, ids) VALUES (?, ?)");
  const addMessage = db.prepare(
    "INSERT INTO messages (message_id, mail_id, owner_id, path, import_id) VALUES (?, ?, ?, ?, ?)",
  );
  const refile = db.prepare("UPDATE messages SET owner_id = ?, path = ? WHERE message_id = ?");
  const rename = db.prepare("UPDATE messages SET message_id = ? WHERE message_id = ?");
  const addFiling = db.prepare("INSERT OR IGNORE INTO filings (mail_id, owner_id) VALUES (?, ?)");
  const addDelivery = db.prepare(
    `INSERT INTO deliveries (owner_id, address, mails) VALUES (?, ?, 1)
     ON CONFLICT (owner_id, address) DO UPDATE SET mails = mails + 1`,
  );
  const addAddressName = db.prepare("INSERT OR IGNORE INTO address_names (address, name) VALUES (?, ?)");
  const ownerId = openOwnerIds(db);
  let changed = false;

  function addMessageAndMail(mail: StorableMail, messageId: string, hash: Buffer, owner: number | null): InsertOutcome {
    const existingId = findMail.get(hash) as number | undefined;
    const mailId = existingId ?? insertMail(mail, hash);
    if (existingId !== undefined) addNames(mailId, mail.names);
    addReferences(mailId, mail.references);
    addMessage.run(messageId, mailId, owner, mail.path, importId);
    addToMailbox(mailId, owner, mail.deliveredTo);
    changed = true;
    return existingId === undefined ? "new" : "copy";
  }

  function insertMail({ messageId, content, names }: StorableMail, hash: Buffer): number {
    if (content === null) throw new Error(`the content of ${messageId} was not added before`);
    const { subject, sender, recipients, toCount, ccCount, date, body } = content;
    const { lastInsertRowid } = addMail.run(hash, subject, sender, recipients, toCount, ccCount, date, body);
    const bigrams = bigramText(subject, body);
    if (bigrams !== null) addBigrams.run(lastInsertRowid, bigrams);
    if (names.length > 0) setNames.run(lastInsertRowid, JSON.stringify(names));
    return lastInsertRowid as number;
  }

  function addToMailbox(mailId: number, owner: number | null, deliveredTo: string | null): void {
    if (owner === null || addFiling.run(mailId, owner).changes === 0) return;
    if (deliveredTo !== null) addDelivery.run(owner, deliveredTo);
    changed = true;
  }

  /**
   * Merges display names, because copies of an email can have different ones, such as "Kitchen, Louise" and "Louise
   * Kitchen".
   */
  function addNames(mailId: number, names: readonly string[]): void {
    if (names.length === 0) return;
    const stored = (findNames.get(mailId) as string | undefined) ?? "[]";
    const all = JSON.stringify(mergeNames(JSON.parse(stored) as string[], names));
    if (all === stored) return;
    setNames.run(mailId, all);
    changed = true;
  }

  /** Keeps the longest list, because mail programs and archives remove the header from some copies. */
  function addReferences(mailId: number, ids: readonly string[]): void {
    if (ids.length === 0) return;
    const stored = findReferences.get(mailId) as string | undefined;
    const added = JSON.stringify(ids);
    if (stored !== undefined && !isLonger(added, stored)) return;
    setReferences.run(mailId, added);
    changed = true;
  }

  /** Appends eight digits of the hash, or all of them if a third email with this Message-ID has the same eight. */
  function renamedId(messageId: string, hash: Buffer): string {
    const short = `${messageId}~${hash.toString("hex", 0, 4)}`;
    const storedMessage = findMessage.get(short) as StoredMessage | undefined;
    return storedMessage === undefined || storedMessage.hash.equals(hash)
      ? short
      : `${messageId}~${hash.toString("hex")}`;
  }

  /** Handles an email that is already stored under the same Message-ID. */
  function addKnown(mail: StorableMail, messageId: string, message: StoredMessage, owner: number | null): "known" {
    addToMailbox(message.mailId, owner, mail.deliveredTo);
    addNames(message.mailId, mail.names);
    addReferences(message.mailId, mail.references);
    // The alphabetically first path wins, regardless of the reading order. An email in a format without paths does not
    // remove the path.
    if (mail.path !== "" && (message.path === "" || mail.path < message.path)) {
      refile.run(owner, mail.path, messageId);
      changed = true;
    }
    return "known";
  }

  return {
    get changed() {
      return changed;
    },
    add(mail) {
      for (const { address, name } of mail.named) addAddressName.run(address, name);
      const hash = Buffer.from(mail.contentHash, "hex");
      const owner = ownerId(mail);
      const message = findMessage.get(mail.messageId) as StoredMessage | undefined;
      if (message === undefined) return addMessageAndMail(mail, mail.messageId, hash, owner);
      if (message.hash.equals(hash)) return addKnown(mail, mail.messageId, message, owner);
      const ownId = renamedId(mail.messageId, hash);
      const renamed = findMessage.get(ownId) as StoredMessage | undefined;
      if (renamed !== undefined) return addKnown(mail, ownId, renamed, owner);
      const keepsId = hash.compare(message.hash) < 0;
      if (keepsId) rename.run(renamedId(mail.messageId, message.hash), mail.messageId);
      addMessageAndMail(mail, keepsId ? mail.messageId : ownId, hash, owner);
      return "renamed";
    },
  };
}

/** Whether a text is longer. Of two texts of one length, only one counts as longer, in whichever order they come. */
function isLonger(text: string, other: string): boolean {
  return text.length === other.length ? text > other : text.length > other.length;
}

function openOwnerIds(db: Db): (mail: StorableMail) => number | null {
  const find = db.prepare("SELECT id FROM owners WHERE place = ?").pluck();
  const add = db.prepare("INSERT INTO owners (place, folder, address, basis) VALUES (?, ?, ?, ?)");
  const ids = new Map<string, number>();
  return ({ owner, inbox, deliveredTo }) => {
    // An email outside all folders belongs to the address that it was delivered to.
    const address = inbox ?? (owner === null ? deliveredTo : null);
    const place = address ?? owner;
    if (place === null || place === "") return null;
    let id = ids.get(place) ?? (find.get(place) as number | undefined);
    const basis = address === null ? null : inbox === null ? "delivered" : "source";
    // `nameOwners` shortens the folder's name.
    id ??= add.run(place, place, address, basis).lastInsertRowid as number;
    ids.set(place, id);
    return id;
  };
}
