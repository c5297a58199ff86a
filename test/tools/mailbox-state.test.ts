import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Goal, OutgoingEmail } from "../../src/tasks/mailbox-changes.js";
import { goalOracle } from "../../src/tools/goal-oracle.js";
import { INBOX, MailboxState } from "../../src/tools/mailbox-state.js";

const OWNER = "marcus@x.example";
const NOW = "2001-05-14T12:00:00Z";

const opened = (drafts: readonly OutgoingEmail[] = []) => new MailboxState({ owner: OWNER, now: NOW, drafts });

function email(to: string): Omit<OutgoingEmail, "message_id"> {
  return { to: [to], cc: [], bcc: [], subject: "Dues", body: `For ${to}`, reply_to: null, forwards: null };
}

const START: OutgoingEmail = { ...email("ann@x.example"), message_id: "<start@x>" };

describe("MailboxState", () => {
  it("shows the same difference after the same actions in any order that commutes", () => {
    const id = fc.constantFrom("<1@x>", "<2@x>", "<3@x>", "<4@x>");
    // Each action sets a part of the state of its own, so that the order cannot matter.
    const action = fc.oneof(
      fc.record({ id, label: fc.constantFrom("a", "b", "c") }).map(({ id, label }) => ({
        part: `${id} ${label}`,
        apply: (state: MailboxState) => state.label(id, { add: [label], remove: [] }),
      })),
      fc.record({ id, folder: fc.constantFrom("archive", "inbox") }).map(({ id, folder }) => ({
        part: `${id} folder`,
        apply: (state: MailboxState) => state.move(id, INBOX, folder),
      })),
      fc.record({ id, flagged: fc.boolean() }).map(({ id, flagged }) => ({
        part: `${id} flag`,
        apply: (state: MailboxState) => state.mark(id, { flagged }),
      })),
      fc.record({ to: fc.constantFrom("ann@x.example", "bob@x.example"), sent: fc.boolean() }).map(({ to, sent }) => ({
        part: `to ${to}`,
        apply: (state: MailboxState) => {
          const { message_id } = state.draft(email(to));
          if (sent) state.send(message_id);
        },
      })),
      fc.constant({ part: "start", apply: (state: MailboxState) => void state.discard(START.message_id) }),
    );
    const actions = fc.uniqueArray(action, { selector: ({ part }) => part, minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(
        actions.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        ([one, other]) => {
          const [a, b] = [opened([START]), opened([START])];
          for (const { apply } of one) apply(a);
          for (const { apply } of other) apply(b);
          expect(b.changes()).toEqual(a.changes());
        },
      ),
      { numRuns: 10_000 },
    );
  });

  it("counts as untouched until an email is marked, drafted or sent", () => {
    expect(opened().isUntouched).toBe(true);
    const [marked, drafted, sent] = [opened(), opened(), opened()];
    marked.mark("<1@x>", { flagged: true });
    const { message_id: id } = drafted.draft(email("ann@x.example"));
    sent.send(sent.draft(email("ann@x.example")).message_id);
    expect([marked, drafted, sent].map((state) => state.isUntouched)).toEqual([false, false, false]);
    drafted.discard(id);
    expect(drafted.isUntouched).toBe(true);
  });

  it("shows no difference after actions that cancel each other", () => {
    const state = opened();
    state.label("<1@x>", { add: ["Budget"], remove: [] });
    state.label("<1@x>", { add: [], remove: ["budget"] });
    state.move("<1@x>", INBOX, "archive");
    state.move("<1@x>", INBOX, "Inbox");
    state.mark("<1@x>", { unread: true, flagged: true });
    state.mark("<1@x>", { unread: false, flagged: false });
    state.discard(state.draft(email("ann@x.example")).message_id);
    expect(state.changes()).toEqual({ emails: [], drafts: [], sent: [], discarded: [] });
  });

  it("lists changed emails, new drafts, sent emails and discarded drafts of the start", () => {
    const other = { ...email("bob@x.example"), message_id: "<other@x>" };
    const state = opened([START, other]);
    state.label("<2@x>", { add: ["b", "A"], remove: [] });
    state.mark("<1@x>", { unread: true });
    const draft = state.draft(email("cy@x.example"));
    state.send(other.message_id);
    state.discard(START.message_id);
    expect(state.changes()).toEqual({
      emails: [
        { message_id: "<1@x>", unread: true },
        { message_id: "<2@x>", labels: ["A", "b"] },
      ],
      drafts: [draft],
      sent: [other],
      discarded: ["<start@x>"],
    });
  });

  it("keeps two equal drafts apart", () => {
    const state = opened();
    const [a, b] = [state.draft(email("ann@x.example")), state.draft(email("ann@x.example"))];
    expect(a.message_id).not.toBe(b.message_id);
    expect(state.changes().drafts).toHaveLength(2);
  });

  it("uses the Message-ID of the goal for every copy of an email", () => {
    const state = new MailboxState({ owner: OWNER, now: NOW, goalIds: ["<copy@x>"] });
    const canonicalId = (id: string) => (id === "<copy@x>" ? "<original@x>" : id);
    expect(state.idOf("<original@x>", canonicalId)).toBe("<copy@x>");
    expect(state.idOf("<copy@x>", canonicalId)).toBe("<copy@x>");
    expect(state.idOf("<else@x>", canonicalId)).toBe("<else@x>");
  });
});

describe("goalOracle", () => {
  it("brings the mailbox into the state of the goal", async () => {
    const state = opened([START, { ...START, message_id: "<old@x>" }]);
    const wanted = { recipients: ["bob@x.example"], reply_to: null, forwards: null, facts: ["5", "May 6"] };
    const goal: Goal = {
      emails: [
        { message_ids: ["<1@x>", "<2@x>"], labels: ["a"], folder: "archive" },
        { message_ids: ["<3@x>"], flagged: true },
      ],
      drafts: [wanted],
      sent: [wanted, { ...wanted, message_id: START.message_id }],
      discarded: ["<old@x>"],
    };
    expect(await goalOracle(goal, state).apply(new AbortController().signal)).toMatchObject({ ok: true });
    const written = { ...email("bob@x.example"), subject: "", body: "5\nMay 6", message_id: expect.anything() };
    expect(state.changes()).toEqual({
      emails: [
        { message_id: "<1@x>", labels: ["a"], folder: "archive" },
        { message_id: "<2@x>", labels: ["a"], folder: "archive" },
        { message_id: "<3@x>", flagged: true },
      ],
      drafts: [written],
      sent: expect.arrayContaining([written, START]),
      discarded: ["<old@x>"],
    });
  });
});
