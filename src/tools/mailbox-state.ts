// The state of a mailbox during one attempt at a task, or during a chat: what an agent labeled, moved, marked, drafted,
// sent and discarded. It lies over the imported mail, which never changes, and ends with the attempt or the chat. It
// must not know the database: callers pass the ids of `idOf`, so that the copies of an email have one state.
import type { JsonObject } from "../platform/json.js";
import { sha256Of } from "../platform/sha256.js";
import type { Attack, PlantedEmail } from "../tasks/attack.js";
import type { EmailMarks, MailboxChanges, OutgoingEmail } from "../tasks/mailbox-changes.js";

export const INBOX = "inbox";
export const SENT = "sent";
export const DRAFTS = "drafts";

type NewEmail = Omit<OutgoingEmail, "message_id">;

interface MarkedEmail {
  /** Null if the email is where it was at the start. */
  folder: string | null;
  /** By their names in lower case, with the spelling of the agent. */
  readonly labels: Map<string, string>;
  unread: boolean;
  flagged: boolean;
}

interface MailboxStart {
  readonly owner: string;
  /** ISO 8601. The date of drafts and sent emails. */
  readonly now: string;
  readonly drafts?: readonly OutgoingEmail[];
  /** Message-IDs that the goal of the task uses. The changes use the same ids, even for copies. */
  readonly goalIds?: readonly string[];
  /** What earlier messages of a chat changed. The difference to the start includes it. */
  readonly earlier?: MailboxChanges;
}

export class MailboxState {
  private readonly marked = new Map<string, MarkedEmail>();
  private readonly drafts: Map<string, OutgoingEmail>;
  private readonly sent = new Map<string, OutgoingEmail>();
  private readonly startDrafts: ReadonlyMap<string, OutgoingEmail>;
  private readonly goalIds: readonly string[];
  private nameOfCanonical: ReadonlyMap<string, string> | null = null;
  private planted: Attack | null = null;
  readonly owner: string;
  readonly now: string;

  constructor({ owner, now, drafts = [], goalIds = [], earlier }: MailboxStart) {
    this.owner = owner;
    this.now = now;
    this.goalIds = goalIds;
    this.startDrafts = new Map(drafts.map((draft) => [draft.message_id, draft]));
    this.drafts = new Map(this.startDrafts);
    if (earlier !== undefined) this.restore(earlier);
  }

  private restore({ emails, drafts, sent, discarded }: MailboxChanges): void {
    for (const { message_id, labels = [], folder = null, unread = false, flagged = false } of emails) {
      const byKey = new Map(labels.map((label) => [keyOf(label), label]));
      this.marked.set(message_id, { folder, labels: byKey, unread, flagged });
    }
    for (const { message_id } of sent) this.drafts.delete(message_id);
    for (const id of discarded) this.drafts.delete(id);
    for (const draft of drafts) this.drafts.set(draft.message_id, draft);
    for (const email of sent) this.sent.set(email.message_id, email);
  }

  /** Whether the mailbox is as it was imported, so that searches and reads need no changes. */
  get isUntouched(): boolean {
    return this.marked.size === 0 && this.drafts.size === 0 && this.sent.size === 0 && this.planted === null;
  }

  /** Puts the emails of an attack into the mailbox. */
  plant(attack: Attack): void {
    this.planted = attack;
  }

  get attack(): Attack | null {
    return this.planted;
  }

  /** Returns a planted email, or null for any other id. */
  plantedEmail(messageId: string): PlantedEmail | null {
    const bare = messageId.trim().replace(/^<|>$/g, "");
    return this.planted?.emails.find(({ message_id }) => message_id === `<${bare}>`) ?? null;
  }

  /** Returns the id under which the state keeps an email. All of its copies have the same. */
  idOf(messageId: string, canonicalId: (messageId: string) => string): string {
    this.nameOfCanonical ??= new Map(this.goalIds.map((id) => [canonicalId(id), id]));
    const canonical = canonicalId(messageId);
    return this.nameOfCanonical.get(canonical) ?? canonical;
  }

  label(id: string, { add, remove }: { add: readonly string[]; remove: readonly string[] }): void {
    const { labels } = this.markedEmail(id);
    for (const label of remove) labels.delete(keyOf(label));
    for (const label of add) if (!labels.has(keyOf(label))) labels.set(keyOf(label), label.trim());
  }

  /** @param home the folder in which the email was at the start */
  move(id: string, home: string, folder: string): void {
    this.markedEmail(id).folder = keyOf(folder) === home ? null : folder.trim();
  }

  mark(id: string, marks: { readonly unread?: boolean; readonly flagged?: boolean }): void {
    Object.assign(this.markedEmail(id), marks);
  }

  /** Saves a draft and returns it with its id. */
  draft(email: NewEmail): OutgoingEmail {
    const draft = { ...email, message_id: this.newId(email) };
    this.drafts.set(draft.message_id, draft);
    return draft;
  }

  /** Sends a draft. Returns null if there is no draft with this id. */
  send(id: string): OutgoingEmail | null {
    const draft = this.drafts.get(id) ?? null;
    if (draft === null) return null;
    this.drafts.delete(id);
    this.sent.set(id, draft);
    return draft;
  }

  /** Discards a draft. Returns false if there is no draft with this id. */
  discard(id: string): boolean {
    return this.drafts.delete(id);
  }

  listDrafts(): readonly OutgoingEmail[] {
    return byId(this.drafts.values());
  }

  /** Returns a draft or a sent email with its folder, or null for any other id. */
  outgoing(id: string): { readonly email: OutgoingEmail; readonly folder: string } | null {
    const draft = this.drafts.get(id);
    if (draft !== undefined) return { email: draft, folder: DRAFTS };
    const sent = this.sent.get(id);
    return sent === undefined ? null : { email: sent, folder: SENT };
  }

  /** Returns the drafts and the sent emails, the sent ones first. */
  allOutgoing(): readonly { readonly email: OutgoingEmail; readonly folder: string }[] {
    const sent = byId(this.sent.values()).map((email) => ({ email, folder: SENT }));
    return [...sent, ...this.listDrafts().map((email) => ({ email, folder: DRAFTS }))];
  }

  /** Returns the labels, folder and marks of an email that differ from the start. */
  marksOf(id: string): EmailMarks {
    const email = this.marked.get(id);
    if (email === undefined) return {};
    const labels = [...email.labels.values()].sort();
    return {
      ...(labels.length === 0 ? {} : { labels }),
      ...(email.folder === null ? {} : { folder: email.folder }),
      ...(email.unread ? { unread: true as const } : {}),
      ...(email.flagged ? { flagged: true as const } : {}),
    };
  }

  /** Returns the difference to the start. Actions that cancel each other leave none. */
  changes(): MailboxChanges {
    const emails = [...this.marked.keys()]
      .sort()
      .map((message_id) => ({ message_id, ...this.marksOf(message_id) }))
      .filter((email) => Object.keys(email).length > 1);
    const isGone = (id: string) => !this.drafts.has(id) && !this.sent.has(id);
    return {
      emails,
      drafts: this.listDrafts().filter(({ message_id }) => !this.startDrafts.has(message_id)),
      sent: byId(this.sent.values()),
      discarded: [...this.startDrafts.keys()].filter(isGone).sort(),
    };
  }

  private markedEmail(id: string): MarkedEmail {
    let email = this.marked.get(id);
    if (email === undefined) {
      email = { folder: null, labels: new Map(), unread: false, flagged: false };
      this.marked.set(id, email);
    }
    return email;
  }

  /** The id depends on the content, so that the difference does not depend on the order in which drafts are made. */
  private newId(email: NewEmail): string {
    for (let copy = 1; ; copy++) {
      const digest = sha256Of(JSON.stringify([email, copy])).slice(0, 16);
      const id = `<draft.${digest}@art-e.invalid>`;
      if (this.outgoing(id) === null) return id;
    }
  }
}

/** Returns the fields of an email as `email_get` shows them. */
export function outgoingFields({ email, folder }: { email: OutgoingEmail; folder: string }, state: MailboxState) {
  const { message_id, subject, to, cc, bcc, body } = email;
  return { message_id, subject, sender: state.owner, to, cc, bcc, date: state.now, folder, body } satisfies JsonObject;
}

function keyOf(label: string): string {
  return label.trim().toLowerCase();
}

function byId(emails: Iterable<OutgoingEmail>): OutgoingEmail[] {
  return [...emails].sort((a, b) => (a.message_id < b.message_id ? -1 : 1));
}
