import { z } from "zod";
import { EXIT, UserError } from "../domain/errors.js";
import type { JsonValue } from "../domain/json.js";
import { stripControls } from "../platform/strip-controls.js";
import { count } from "../reports/text/format-number.js";
import { type Db, openStore } from "../store/connection/open-store.js";
import { getTool } from "../store/registry/tools.js";
import { endOfDay } from "../store/search/date-range.js";
import { toTool } from "../tools/load-tools.js";
import { openMailbox } from "../tools/mailbox.js";
import type { Command } from "./cli/command.js";
import { day, oneOf, readFlags, text, whole } from "./cli/read-flags.js";

const ORDERS = ["best", "newest"] as const;

const schema = z.object({
  inbox_address: text,
  words: z.array(z.coerce.string()).min(1, "expected words to look for"),
  limit: whole(1, 50).default(10),
  order: oneOf(ORDERS).default("best"),
  from: text.optional(),
  to: text.optional(),
  after: day.optional(),
  before: day.optional(),
  cutoff: day.optional(),
});

type Flags = z.output<typeof schema>;

const hitsSchema = z.array(
  z.object({
    message_id: z.string(),
    subject: z.string().optional(),
    sender: z.string().optional(),
    date: z.string().nullish(),
    snippet: z.string(),
    match: z.string().optional(),
  }),
);

/** Calls the very tools that agents call, so that what is shown is what an agent would see. */
export const searchCommand: Command = {
  positionals: {
    inbox_address: { type: "string", describe: "The mailbox: its email address" },
    words: { type: "string", array: true, describe: "What to look for; a whole question is fine" },
  },
  flags: {
    limit: { alias: "l", type: "number", requiresArg: true, describe: "Mails to show, 1-50 [default: 10]" },
    order: {
      type: "string",
      requiresArg: true,
      describe: "best (email_search), newest (search_emails: all words) [default: best]",
    },
    from: { type: "string", requiresArg: true, describe: "Only mail sent by this address" },
    to: { type: "string", requiresArg: true, describe: "Only mail to, cc or bcc this address" },
    after: { type: "string", requiresArg: true, describe: "Only mail sent on or after this day" },
    before: { type: "string", requiresArg: true, describe: "Only mail sent before this day" },
    cutoff: {
      type: "string",
      requiresArg: true,
      describe: "As for a question of this day: later mail is invisible",
    },
  },
  async run(argv, { settings, out }) {
    const flags = readFlags("search", schema, argv);
    const db = openStore(settings.db, { mustExist: true });
    try {
      const value = await callSearch(db, flags);
      out.result(value, () => hitsText(value));
      return EXIT.done;
    } finally {
      db.close();
    }
  },
};

async function callSearch(db: Db, flags: Flags): Promise<JsonValue> {
  const id = flags.order === "best" ? "email_search" : "search_emails";
  const tool = toTool({ tool: getTool(db, id), config: null }, { mailbox: openMailbox(db) });
  const cutoff = flags.cutoff === undefined ? null : endOfDay(flags.cutoff);
  const result = await tool.call(flags.order === "best" ? bestArguments(flags) : newestArguments(flags), {
    inbox: flags.inbox_address.trim().toLowerCase(),
    cutoff,
    signal: new AbortController().signal,
  });
  if (result.ok) return result.value;
  throw new UserError("search_refused", result.error, "See art-e search --help.");
}

function bestArguments({ words, inbox_address, limit, from, to, after, before }: Flags): JsonValue {
  const inbox_id = inbox_address.trim().toLowerCase();
  return given({ query: words.join(" "), inbox_id, limit, from, to, sent_after: after, sent_before: before });
}

function newestArguments({ words, limit, from, to, after, before }: Flags): JsonValue {
  return given({
    keywords: words,
    max_results: Math.min(limit, 10),
    from_addr: from,
    to_addr: to,
    sent_after: after,
    sent_before: before,
  });
}

function given(args: Readonly<Record<string, JsonValue | undefined>>): JsonValue {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined)) as JsonValue;
}

function hitsText(value: JsonValue): string {
  const { emails, total } = z
    .union([
      z.object({ emails: hitsSchema, total: z.number() }),
      hitsSchema.transform((emails) => ({ emails, total: emails.length })),
    ])
    .parse(value);
  if (emails.length === 0) return "No mail found.";
  const shown = emails.map((mail) =>
    [
      `${mail.message_id}${mail.match === undefined ? "" : `  (${mail.match.replace("_", " ")})`}`,
      ...(mail.subject === undefined
        ? []
        : [`  ${mail.date?.slice(0, 10) ?? "no date"}  ${mail.sender}  ${mail.subject}`]),
      `  ${mail.snippet}`,
    ].join("\n"),
  );
  return stripControls(
    [...shown, `${count(emails.length)} of ${count(total)} mails. art-e show '<MESSAGE-ID>' reads one.`].join("\n\n"),
  );
}
