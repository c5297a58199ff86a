// Tasks that ask which emails of a mailbox meet a description, such as those that need a reply. Their gold is the
// mailbox's own future: what happened after the date of the task, which the agent never sees.
import { z } from "zod";
import { utcDay } from "../text/utc-day.js";

/** What a task asks to select: received emails that need a reply, or own emails without one. */
export const SELECTION_KINDS = ["needs-reply", "waiting-for", "follow-up"] as const;

/**
 * The kinds that can be made from any mailbox. Follow-ups cannot: most second emails answer one that is missing in the
 * mailbox, so reading them confirmed only one of twelve.
 */
export const MADE_KINDS = ["needs-reply", "waiting-for"] as const satisfies readonly (typeof SELECTION_KINDS)[number][];

export type MadeKind = (typeof MADE_KINDS)[number];

const messageIds = z.array(z.string().trim().min(1)).min(1).readonly();

const selectedEmailSchema = z.strictObject({
  message_ids: messageIds.describe("Message-IDs of the email and of its copies."),
  evidence: messageIds.describe("Message-IDs of the later emails that prove it. The agent never sees them."),
});

/** What a task asks to select, and the emails that are right. */
export const selectionSchema = z
  .strictObject({
    kind: z.enum(SELECTION_KINDS),
    from: utcDay.describe("First day of the window (YYYY-MM-DD). The last one is the date of the task."),
    reply_days: z.int().positive().describe("Number of days after the date of the task in which the evidence counts."),
    emails: z.array(selectedEmailSchema).readonly().describe("The right emails. Empty if there are none."),
  })
  .superRefine(({ emails }, context) => {
    const ids = emails.flatMap(({ message_ids }) => message_ids);
    const gold = new Set(ids);
    const repeated = ids.find((id, i) => ids.indexOf(id) < i);
    const known = emails.flatMap(({ evidence }) => evidence).find((id) => gold.has(id));
    const fault =
      repeated !== undefined
        ? `lists ${repeated} twice`
        : known !== undefined
          ? `${known} cannot be both a right email and later evidence`
          : null;
    if (fault !== null) context.addIssue({ code: "custom", path: ["emails"], message: fault });
  });

export type Selection = Readonly<z.output<typeof selectionSchema>>;

/** An email that an agent selected or should have selected. */
export const matchedEmailSchema = z.strictObject({
  state: z
    .enum(["hit", "miss", "false alarm"])
    .describe("hit: right and selected. miss: right and not selected. false alarm: selected and not right."),
  message_id: z.string().describe("Message-ID of the email, as the agent wrote it if it selected the email."),
  evidence: z.array(z.string()).readonly().describe("The later emails that prove it. Empty for a false alarm."),
});

export type MatchedEmail = Readonly<z.output<typeof matchedEmailSchema>>;

export interface SelectionCounts {
  readonly hits: number;
  readonly misses: number;
  readonly falseAlarms: number;
}

export function countMatches(matches: readonly MatchedEmail[]): SelectionCounts {
  const countOf = (wanted: MatchedEmail["state"]) => matches.filter(({ state }) => state === wanted).length;
  return { hits: countOf("hit"), misses: countOf("miss"), falseAlarms: countOf("false alarm") };
}
