// Tools that act in the task's mailbox: labels, folders, marks and drafts. Everything stays in the attempt's
// MailboxState, and nothing is ever sent. The verbs follow Gmail's MCP server (create_draft, list_drafts, label_*), and
// `move` and the reply and forward arguments of drafts follow Microsoft Graph.
import { z } from "zod";
import { plainSubject } from "../../mail/subject.js";
import type { JsonValue } from "../../platform/json.js";
import { findReadableMail, type Mailbox, type ReadableMail, type ToolError, toolError } from "../mailbox.js";
import { DRAFTS, INBOX, type MailboxState, outgoingFields, SENT } from "../mailbox-state.js";
import type { ToolContext, ToolResult } from "../tool.js";
import { defineHandler, type Handler } from "../tool-handler.js";

const MAX_EMAILS = 200;

const messageIds = z.array(z.string().min(1).max(2_000)).min(1).max(MAX_EMAILS);
const name = z.string().trim().min(1).max(200);
const names = z.array(name).max(50).default([]);
const noConfig = z.strictObject({});

/** Adds and removes labels of emails. Result: `{changed: [{message_id, ...marks}]}`, as of the next two. */
const labelEmails = defineHandler({
  args: z.object({ message_ids: messageIds, add: names, remove: names }),
  config: noConfig,
  call({ message_ids, add, remove }, context, { mailbox }) {
    if (add.length + remove.length === 0) return toolError("bad_arguments", "Pass labels in add or remove.");
    return onEmails(message_ids, context, mailbox, (state, id) => state.label(id, { add, remove }));
  },
});

const moveEmails = defineHandler({
  args: z.object({ message_ids: messageIds, folder: name }),
  config: noConfig,
  call({ message_ids, folder }, context, { mailbox }) {
    if ([DRAFTS, SENT].includes(folder.toLowerCase())) {
      return toolError("bad_arguments", `Emails cannot be moved to the folder ${folder}. Pass another folder.`);
    }
    return onEmails(message_ids, context, mailbox, (state, id, home) => state.move(id, home, folder));
  },
});

const markEmails = defineHandler({
  args: z.object({ message_ids: messageIds, unread: z.boolean().optional(), flagged: z.boolean().optional() }),
  config: noConfig,
  call({ message_ids, unread, flagged }, context, { mailbox }) {
    const marks = { ...(unread === undefined ? {} : { unread }), ...(flagged === undefined ? {} : { flagged }) };
    if (Object.keys(marks).length === 0) return toolError("bad_arguments", "Pass unread or flagged, or both.");
    return onEmails(message_ids, context, mailbox, (state, id) => state.mark(id, marks));
  },
});

/** An address, also as `Name <address>`. */
const address = z
  .string()
  .max(1_000)
  .transform((text) => (/<([^<>]+)>\s*$/.exec(text)?.[1] ?? text).trim().toLowerCase())
  .refine((text) => /^[^\s@,;<>]+@[^\s@,;<>]+$/.test(text), "expected one email address");
const recipients = z.array(address).max(100).optional();

const draftArguments = z.object({
  to: recipients,
  cc: recipients,
  bcc: recipients,
  subject: z.string().max(2_000).optional(),
  body: z.string().max(200_000).default(""),
  reply_to: z.string().min(1).max(2_000).optional(),
  reply_all: z.boolean().default(false),
  forward: z.string().min(1).max(2_000).optional(),
});

type DraftArguments = z.output<typeof draftArguments>;

/**
 * Saves a new email, a reply or a forward as a draft. A reply takes its recipients and its subject from the email it
 * replies to, unless the call passes others. Result: the draft, as `email_get` returns an email, plus `draft_id`.
 */
const createDraft = defineHandler({
  args: draftArguments,
  config: noConfig,
  call(args, context, { mailbox }) {
    const { state } = context;
    if (state === undefined) return NO_STATE;
    if (args.reply_to !== undefined && args.forward !== undefined) {
      return toolError("bad_arguments", "Pass reply_to or forward, not both.");
    }
    const from = args.reply_to ?? args.forward;
    const original = from === undefined ? null : findReadableMail(from, context, mailbox);
    if (original !== null && !original.ok) return original;
    const mail = original?.mail ?? null;
    const { to, cc, bcc, subject } = headersOf(args, mail, state.owner);
    if (to.length + cc.length + bcc.length === 0) return toolError("bad_arguments", "Pass the recipients in to.");
    const id = mail === null ? null : state.idOf(mail.messageId, mailbox.mails.canonicalId);
    const draft = state.draft({
      ...{ to, cc, bcc, subject, body: args.body },
      reply_to: args.reply_to === undefined ? null : id,
      forwards: args.forward === undefined ? null : id,
    });
    const fields = outgoingFields({ email: draft, folder: DRAFTS }, state);
    return { ok: true, value: { draft_id: draft.message_id, ...fields } };
  },
});

function headersOf(
  { to, cc, bcc = [], subject, forward, reply_all }: DraftArguments,
  mail: ReadableMail | null,
  owner: string,
) {
  if (mail === null) return { to: to ?? [], cc: cc ?? [], bcc, subject: subject ?? "" };
  const plain = plainSubject(mail.subject);
  if (forward !== undefined) return { to: to ?? [], cc: cc ?? [], bcc, subject: subject ?? `Fwd: ${plain}` };
  // A reply to one's own email goes to its recipients.
  const [first, others] = mail.sender === owner ? [mail.to, []] : [[mail.sender], mail.to];
  const everyone = withoutAddress(owner, [...first, ...others]);
  return {
    to: to ?? (reply_all ? everyone : [...first]),
    cc: cc ?? (reply_all ? withoutAddress(owner, mail.cc) : []),
    bcc,
    subject: subject ?? `Re: ${plain}`,
  };
}

function withoutAddress(owner: string, addresses: readonly string[]): string[] {
  return [...new Set(addresses)].filter((each) => each !== owner);
}

/** Lists the drafts. Result: `{drafts: [{draft_id, to, subject, ...}]}`. */
const listDrafts = defineHandler({
  args: z.object({}),
  config: noConfig,
  call(_args, { state }) {
    if (state === undefined) return NO_STATE;
    const drafts = state.listDrafts().map(({ message_id, to, cc, bcc, subject, body }) => ({
      ...{ draft_id: message_id, to, cc, bcc, subject, body },
    }));
    return { ok: true, value: { drafts } };
  },
});

const draftId = z.object({ draft_id: z.string().min(1).max(2_000) });

/** Moves a draft to the sent emails. Nothing leaves the computer. Result: `{sent: true, message_id, to}`. */
const sendDraft = defineHandler({
  args: draftId,
  config: noConfig,
  call({ draft_id }, { state }) {
    if (state === undefined) return NO_STATE;
    const sent = state.send(draft_id.trim());
    if (sent === null) return unknownDraft(draft_id);
    return { ok: true, value: { sent: true, message_id: sent.message_id, to: [...sent.to, ...sent.cc, ...sent.bcc] } };
  },
});

const discardDraft = defineHandler({
  args: draftId,
  config: noConfig,
  call({ draft_id }, { state }) {
    if (state === undefined) return NO_STATE;
    return state.discard(draft_id.trim()) ? { ok: true, value: { discarded: true } } : unknownDraft(draft_id);
  },
});

const NO_STATE = toolError("failed", "Emails can be changed only in a task or chat with a mailbox.");

function unknownDraft(id: string): ToolError {
  return toolError("bad_arguments", `Unknown draft ${id}. Use a draft_id of create_draft or list_drafts unchanged.`);
}

/** Applies a change to emails that the agent can read. If one of the ids is unknown, it changes none of them. */
function onEmails(
  ids: readonly string[],
  context: ToolContext,
  mailbox: Mailbox,
  change: (state: MailboxState, id: string, home: string) => void,
): ToolResult {
  const { state } = context;
  if (state === undefined) return NO_STATE;
  const mails: ReadableMail[] = [];
  for (const id of ids) {
    const readable = findReadableMail(id, context, mailbox);
    if (!readable.ok) return readable;
    mails.push(readable.mail);
  }
  const changed = mails.map(({ messageId, sender }): JsonValue => {
    const id = state.idOf(messageId, mailbox.mails.canonicalId);
    change(state, id, sender === state.owner ? SENT : INBOX);
    return { message_id: messageId, ...state.marksOf(id) };
  });
  return { ok: true, value: { changed } };
}

/** The handlers of this file, by their keys. */
export const ACTION_HANDLERS: Readonly<Record<string, Handler>> = {
  label_emails: labelEmails,
  move_emails: moveEmails,
  mark_emails: markEmails,
  create_draft: createDraft,
  list_drafts: listDrafts,
  send_draft: sendDraft,
  discard_draft: discardDraft,
};
