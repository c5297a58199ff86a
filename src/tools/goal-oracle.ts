// The gold solution of a task that asks for actions: it brings the mailbox into the state of the task's goal.
import type { Goal, WantedEmail } from "../tasks/mailbox-changes.js";
import type { TaskOracle } from "../tasks/suite-task.js";
import { INBOX, type MailboxState } from "./mailbox-state.js";

export function goalOracle(goal: Goal, state: MailboxState): TaskOracle {
  return {
    async apply() {
      for (const { message_ids, labels = [], folder, ...marks } of goal.emails) {
        for (const id of message_ids) {
          state.label(id, { add: labels, remove: [] });
          if (folder !== undefined) state.move(id, INBOX, folder);
          state.mark(id, marks);
        }
      }
      for (const wanted of goal.drafts) draftOf(wanted, state);
      for (const wanted of goal.sent) state.send(draftOf(wanted, state));
      for (const id of goal.discarded) state.discard(id);
      return { ok: true, applied: { answer: "Done.", sources: [] } };
    },
  };
}

/** Returns the id of the draft, which is a new one unless the task names one of its own. */
function draftOf({ message_id, recipients, reply_to, forwards, facts }: WantedEmail, state: MailboxState): string {
  if (message_id !== undefined) return message_id;
  const email = { to: recipients, cc: [], bcc: [], subject: "", body: facts.join("\n"), reply_to, forwards };
  return state.draft(email).message_id;
}
