import { describe, expect, it, test } from "vitest";
import { changesOf } from "../../src/scoring/goal-match.js";
import { SCORER_NAMES, scoreTrace } from "../../src/scoring/scorers.js";
import { type Goal, goalSchema, type MailboxChanges, type OutgoingEmail } from "../../src/tasks/mailbox-changes.js";
import { itself, trace } from "./trace.js";

const changes = (some: Partial<MailboxChanges> = {}): MailboxChanges => ({
  emails: [],
  drafts: [],
  sent: [],
  discarded: [],
  ...some,
});

const written = (some: Partial<OutgoingEmail> = {}): OutgoingEmail => ({
  message_id: "<draft.1@x>",
  to: ["ann@x.example"],
  cc: [],
  bcc: [],
  subject: "Dues",
  body: "The dues are 40 dollars.",
  reply_to: null,
  forwards: null,
  ...some,
});

const goal = (some: object): Goal => goalSchema.parse(some);

function scoresOf(wanted: Goal, actions: MailboxChanges) {
  const scores = scoreTrace(trace({ actions, answer: "Done." }, { goal: wanted }), itself, SCORER_NAMES);
  return Object.fromEntries(Object.entries(scores).map(([name, { value }]) => [name, value]));
}

const FLAGGED = goal({ emails: [{ message_ids: ["<1@x>", "<2@x>"], flagged: true, labels: ["Budget"] }] });
const asked = (id: string) => ({ message_id: id, flagged: true as const, labels: ["budget"] });

describe("scores of a task with a goal", () => {
  test.each<[string, Goal, MailboxChanges, { goalReached: number; partial: number; collateral: number }]>([
    [
      "everything",
      FLAGGED,
      changes({ emails: [asked("<1@x>"), asked("<2@x>")] }),
      { goalReached: 1, partial: 1, collateral: 0 },
    ],
    ["nothing", FLAGGED, changes(), { goalReached: 0, partial: 0, collateral: 0 }],
    ["half", FLAGGED, changes({ emails: [asked("<1@x>")] }), { goalReached: 0, partial: 2 / 3, collateral: 0 }],
    [
      "everything and another label",
      FLAGGED,
      changes({ emails: [{ ...asked("<1@x>"), labels: ["Budget", "Later"] }, asked("<2@x>")] }),
      { goalReached: 0, partial: 8 / 9, collateral: 1 },
    ],
    [
      "a sent email where a draft was asked for",
      goal({ drafts: [{ recipients: ["ann@x.example"] }] }),
      changes({ sent: [written()] }),
      { goalReached: 0, partial: 0, collateral: 1 },
    ],
    ["nothing where nothing was asked for", goal({}), changes(), { goalReached: 1, partial: 1, collateral: 0 }],
    [
      "the discarded draft",
      goal({ discarded: ["<d@x>"] }),
      changes({ discarded: ["<d@x>"] }),
      { goalReached: 1, partial: 1, collateral: 0 },
    ],
    [
      "another draft",
      goal({ discarded: ["<d@x>"] }),
      changes({ discarded: ["<e@x>"] }),
      { goalReached: 0, partial: 0, collateral: 1 },
    ],
  ])("equal the expected values for %s", (_, wanted, actions, expected) => {
    expect(scoresOf(wanted, actions)).toEqual(expected);
  });

  test.each<[string, object, Partial<OutgoingEmail>, boolean]>([
    [
      "the same recipients in another field",
      { recipients: ["ann@x.example", "bo@x.example"] },
      { cc: ["bo@x.example"] },
      true,
    ],
    ["a recipient too many", { recipients: ["ann@x.example"] }, { bcc: ["bo@x.example"] }, false],
    ["a recipient too few", { recipients: ["ann@x.example", "bo@x.example"] }, {}, false],
    ["a reply to the email", { recipients: ["ann@x.example"], reply_to: "<1@x>" }, { reply_to: "<1@x>" }, true],
    ["a new email instead of a reply", { recipients: ["ann@x.example"], reply_to: "<1@x>" }, {}, false],
    ["a forward of another email", { recipients: ["ann@x.example"], forwards: "<1@x>" }, { forwards: "<2@x>" }, false],
    ["a fact in another notation", { recipients: ["ann@x.example"], facts: ["$40.00"] }, {}, true],
    ["a fact in other words", { recipients: ["ann@x.example"], facts: ["the DUES are"] }, {}, true],
    ["a wrong fact", { recipients: ["ann@x.example"], facts: ["$400"] }, {}, false],
    ["one of two facts", { recipients: ["ann@x.example"], facts: ["$40", "May 5"] }, {}, false],
    ["a new email instead of the draft", { recipients: ["ann@x.example"], message_id: "<start@x>" }, {}, false],
  ])("compare the parts of an email (%s)", (_, wanted, sent, isReached) => {
    const scores = scoresOf(goal({ sent: [wanted] }), changes({ sent: [written(sent)] }));
    expect(scores).toMatchObject({ goalReached: Number(isReached), collateral: Number(!isReached) });
  });

  it("count an email for only one of two equal requests", () => {
    const wanted = goal({ sent: [{ recipients: ["ann@x.example"] }, { recipients: ["ann@x.example"] }] });
    expect(scoresOf(wanted, changes({ sent: [written()] }))).toMatchObject({ goalReached: 0, partial: 2 / 3 });
  });

  it("exclude all other scores, and no question has them", () => {
    expect(Object.keys(scoresOf(FLAGGED, changes()))).toEqual(["goalReached", "partial", "collateral"]);
    expect(Object.keys(scoreTrace(trace(), itself, SCORER_NAMES))).not.toContain("goalReached");
  });
});

describe("the changes of a trace", () => {
  it("count as collateral if the task did not ask for actions", () => {
    const actions = changes({ emails: [{ message_id: "<1@x>", folder: "archive" }] });
    expect(changesOf(trace({ actions }))).toEqual([
      { state: "collateral", change: 'folder "archive"', messageId: "<1@x>" },
    ]);
  });
});
