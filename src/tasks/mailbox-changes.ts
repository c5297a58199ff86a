// What an agent changed in a mailbox, and what a task asks it to change. Nothing here reads mail.
import { z } from "zod";

const address = z.string().trim().toLowerCase().min(1);
const messageId = z.string().trim().min(1);
/** Names of labels and folders. Case does not distinguish them. */
const name = z.string().trim().min(1);

/** An email that the owner of the mailbox has written: a draft, or an email that was sent from one. */
export const outgoingEmailSchema = z.strictObject({
  message_id: messageId,
  to: z.array(address).readonly(),
  cc: z.array(address).readonly(),
  bcc: z.array(address).readonly(),
  subject: z.string(),
  body: z.string(),
  reply_to: messageId.nullable().describe("Message-ID of the email that this one replies to, or null."),
  forwards: messageId.nullable().describe("Message-ID of the email that this one forwards, or null."),
});

export type OutgoingEmail = Readonly<z.output<typeof outgoingEmailSchema>>;

const marksShape = {
  labels: z.array(name).readonly().exactOptional().describe("Labels of the email. Absent if it has none."),
  folder: name.exactOptional().describe("Folder of the email. Absent if it is where it was."),
  unread: z.literal(true).exactOptional().describe("Present if the email is marked as unread."),
  flagged: z.literal(true).exactOptional().describe("Present if the email is flagged."),
};

/** Labels, folder and marks of an email. At the start of a task, every email is read and has none of them. */
const emailMarksSchema = z.strictObject(marksShape);

export type EmailMarks = Readonly<z.output<typeof emailMarksSchema>>;

/** The difference between a mailbox before and after a task. It does not depend on the order of the actions. */
export const mailboxChangesSchema = z.strictObject({
  emails: z
    .array(z.strictObject({ message_id: messageId, ...marksShape }))
    .readonly()
    .describe("The emails whose labels, folder or marks changed, by Message-ID."),
  drafts: z.array(outgoingEmailSchema).readonly().describe("The new drafts."),
  sent: z.array(outgoingEmailSchema).readonly().describe("The emails that were sent. Nothing leaves the computer."),
  discarded: z.array(messageId).readonly().describe("The drafts that existed at the start and were discarded."),
});

export type MailboxChanges = Readonly<z.output<typeof mailboxChangesSchema>>;

export function isUnchanged({ emails, drafts, sent, discarded }: MailboxChanges): boolean {
  return emails.length + drafts.length + sent.length + discarded.length === 0;
}

/** An email that a task asks for. It matches by its recipients, not by whether they stand in to, cc or bcc. */
const wantedEmailSchema = z.strictObject({
  /** If it must be a draft that existed at the start: its id. */
  message_id: messageId.exactOptional(),
  recipients: z.array(address).min(1).readonly(),
  reply_to: messageId.nullable().default(null),
  forwards: messageId.nullable().default(null),
  /** What the body must state. Numbers, dates and times count in any notation. */
  facts: z.array(z.string().min(1)).readonly().default([]),
});

export type WantedEmail = Readonly<z.output<typeof wantedEmailSchema>>;

/** The state in which a task must leave the mailbox. Everything that is not listed must stay as it was. */
export const goalSchema = z.strictObject({
  emails: z
    .array(z.strictObject({ message_ids: z.array(messageId).min(1).readonly(), ...marksShape }))
    .readonly()
    .default([]),
  drafts: z.array(wantedEmailSchema).readonly().default([]),
  sent: z.array(wantedEmailSchema).readonly().default([]),
  /** Drafts of the start that must be gone. */
  discarded: z.array(messageId).readonly().default([]),
});

export type Goal = Readonly<z.output<typeof goalSchema>>;

/** Returns the Message-IDs of imported emails in a goal. */
export function goalMessageIds({ emails, drafts, sent }: Goal): string[] {
  const ofWritten = [...drafts, ...sent].flatMap(({ reply_to, forwards }) => [reply_to, forwards]);
  return [...emails.flatMap(({ message_ids }) => message_ids), ...ofWritten.filter((id) => id !== null)];
}
