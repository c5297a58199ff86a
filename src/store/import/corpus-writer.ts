import { hash as digest } from "node:crypto";
import type { CorpusFormat, Email, FiledEmail } from "../../domain/mail/email.js";
import type { Db } from "../connection/open-store.js";
import { bigramText } from "../tokenizer/bigrams.js";

/**
 * `new` content; a `copy` of known content under a new Message-ID; `known`: both are in the file already; `renamed`:
 * the Message-ID belongs to a different mail, so one of the two got a suffix of `~` and eight digits of its content
 * hash. The smaller hash keeps the id, as the reading order differs between formats.
 */
export type InsertOutcome = "new" | "copy" | "known" | "renamed";

export interface CorpusWriter {
  add(email: FiledEmail): InsertOutcome;
  /** Whether anything was added that affects the index. */
  readonly changed: boolean;
}

interface Message {
  readonly mailId: number;
  readonly path: string;
  /** Of the mail's content. */
  readonly hash: Buffer;
}

/** Adds mail; runs inside the caller's transaction. */
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
  const addMessage = db.prepare(
    "INSERT INTO messages (message_id, mail_id, owner_id, path, import_id) VALUES (?, ?, ?, ?, ?)",
  );
  const refile = db.prepare("UPDATE messages SET owner_id = ?, path = ? WHERE message_id = ?");
  const rename = db.prepare("UPDATE messages SET message_id = ? WHERE message_id = ?");
  const addFiling = db.prepare("INSERT OR IGNORE INTO filings (mail_id, owner_id) VALUES (?, ?)");
  const ownerId = openOwnerIds(db);
  let changed = false;

  function addMessageAndMail(email: FiledEmail, messageId: string, hash: Buffer, owner: number | null): InsertOutcome {
    const known = findMail.get(hash) as number | undefined;
    const mailId = known ?? insertMail(email, hash);
    addMessage.run(messageId, mailId, owner, email.path, importId);
    addToMailbox(mailId, owner);
    changed = true;
    return known === undefined ? "new" : "copy";
  }

  function insertMail(email: Email, hash: Buffer): number {
    const { recipients, toCount, ccCount } = joinRecipients(email);
    const mailId = addMail.run(
      hash,
      email.subject,
      email.sender,
      JSON.stringify(recipients),
      toCount,
      ccCount,
      email.date,
      email.body,
    ).lastInsertRowid as number;
    const bigrams = bigramText(email.subject, email.body);
    if (bigrams !== null) addBigrams.run(mailId, bigrams);
    return mailId;
  }

  function addToMailbox(mailId: number, owner: number | null): void {
    if (owner !== null && addFiling.run(mailId, owner).changes > 0) changed = true;
  }

  /** The same mail under the same Message-ID once more. */
  function addKnown(email: FiledEmail, messageId: string, message: Message, owner: number | null): "known" {
    addToMailbox(message.mailId, owner);
    // The alphabetically first path wins, whatever the reading order; a format without paths removes none.
    if (email.path !== "" && (message.path === "" || email.path < message.path)) {
      refile.run(owner, email.path, messageId);
      changed = true;
    }
    return "known";
  }

  return {
    get changed() {
      return changed;
    },
    add(email) {
      const hash = contentHash(email);
      const owner = ownerId(email);
      const message = findMessage.get(email.messageId) as Message | undefined;
      if (message === undefined) return addMessageAndMail(email, email.messageId, hash, owner);
      if (message.hash.equals(hash)) return addKnown(email, email.messageId, message, owner);
      const ownId = `${email.messageId}~${hashSuffix(hash)}`;
      const renamed = findMessage.get(ownId) as Message | undefined;
      if (renamed !== undefined) return addKnown(email, ownId, renamed, owner);
      const keepsId = hash.compare(message.hash) < 0;
      if (keepsId) rename.run(`${email.messageId}~${hashSuffix(message.hash)}`, email.messageId);
      addMessageAndMail(email, keepsId ? email.messageId : ownId, hash, owner);
      return "renamed";
    },
  };
}

function hashSuffix(hash: Buffer): string {
  return hash.toString("hex", 0, 4);
}

function openOwnerIds(db: Db): (email: FiledEmail) => number | null {
  const find = db.prepare("SELECT id FROM owners WHERE folder = ?").pluck();
  const add = db.prepare("INSERT INTO owners (folder, address, basis) VALUES (?, ?, ?)");
  const ids = new Map<string, number>();
  return ({ owner, inbox }) => {
    const folder = inbox ?? owner;
    if (folder === null || folder === "") return null;
    let id = ids.get(folder) ?? (find.get(folder) as number | undefined);
    // The source names the address of the mailbox.
    id ??= add.run(folder, inbox, inbox === null ? null : "source").lastInsertRowid as number;
    ids.set(folder, id);
    return id;
  };
}

/** To, cc, bcc, each address once. In the Enron mail every bcc repeats a cc. */
function joinRecipients(email: Email): { recipients: string[]; toCount: number; ccCount: number } {
  const seen = new Set(email.to);
  const toCount = seen.size;
  for (const address of email.cc) seen.add(address);
  const ccCount = seen.size - toCount;
  for (const address of email.bcc) seen.add(address);
  return { recipients: [...seen], toCount, ccCount };
}

/**
 * Mails with the same subject, body, sender, recipients (as a set) and date are one mail. Readers replace NUL in all
 * of these, so it can separate them.
 */
function contentHash(email: Email): Buffer {
  const { recipients } = joinRecipients(email);
  const fields = [email.subject, email.sender, recipients.sort().join("\0"), email.date ?? "", email.body];
  return digest("sha256", fields.join("\0\0"), "buffer").subarray(0, 16);
}
