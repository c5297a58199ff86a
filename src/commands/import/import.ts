import { z } from "zod";
import { EXIT, UserError } from "../../domain/errors.js";
import { CORPUS_FORMATS } from "../../domain/mail/email.js";
import { EMAILS_DATASET } from "../../huggingface/dataset-names.js";
import type { Command } from "../cli/command.js";
import { oneOf, readFlags, text, wholeNumber } from "../cli/read-flags.js";
import { importBars } from "./import-progress.js";
import { importSummary } from "./import-summary.js";
import { mailboxLines } from "./mailbox-lines.js";

const FILTERS = ["none", "art"] as const;

const schema = z.object({
  source: z.union([text.transform((path) => [path]), z.array(text)]).default([]),
  csvPath: text.optional(),
  limit: wholeNumber(0).default(0),
  batchSize: wholeNumber(1, 1_000_000).default(1_000),
  filter: oneOf(FILTERS).default("none"),
  format: oneOf(CORPUS_FORMATS).optional(),
  ownerMap: text.optional(),
  strict: z.boolean().default(false),
  singleIndex: z.boolean().default(false),
});

export const importCommand: Command = {
  positionals: {
    source: {
      type: "string",
      array: true,
      describe: "Maildir folders, tar archives, Kaggle's emails.csv, parsed CSV, Parquet, mbox or .eml files",
      defaultDescription: `downloads ${EMAILS_DATASET}`,
    },
  },
  flags: {
    "csv-path": { alias: "c", type: "string", requiresArg: true, describe: "The same as SOURCE" },
    limit: {
      alias: "l",
      type: "number",
      requiresArg: true,
      describe: "Mails to read; 0 = all [default: 0]",
    },
    "batch-size": {
      alias: "b",
      type: "number",
      requiresArg: true,
      describe: "Mails per batch; Ctrl-C is checked between batches [default: 1000]",
    },
    filter: {
      type: "string",
      requiresArg: true,
      describe: "none, or art: ART's three rules [default: none]",
    },
    format: {
      type: "string",
      requiresArg: true,
      describe: `The form, if not recognised: ${CORPUS_FORMATS.join(", ")}`,
    },
    "owner-map": {
      type: "string",
      requiresArg: true,
      describe: "TSV of owner folder and address, over what the mail says",
    },
    strict: { type: "boolean", describe: "Stop at the first mail that cannot be used, and import nothing" },
    "single-index": {
      type: "boolean",
      describe: "Index all mail in emails_fts, for your own SQL; much mail is else indexed on two threads as two",
    },
  },
  async run(argv, context) {
    const flags = readFlags("import", schema, argv);
    const { settings, out, letSignalsEnd } = context;
    const { source, csvPath, limit, batchSize, filter, ownerMap, strict, singleIndex } = flags;
    if (source.length > 0 && csvPath !== undefined && source.join() !== csvPath) {
      throw new UserError(
        "flags_contradict",
        `SOURCE ${source.join(" ")} and --csv-path ${csvPath} name different sources.`,
        "Leave --csv-path out, and name all of them as SOURCE.",
      );
    }
    const sources = csvPath === undefined ? source : [csvPath];
    const { importMail } = await import("../../app/import/import-mail.js");
    const { summary, skippedFile, mailboxes } = await importMail(
      { sources, format: flags.format ?? null, limit, batchSize, filter, ownerMap, strict, singleIndex },
      context,
      { ...importBars(settings), letSignalsEnd },
    );
    out.result({ db: settings.db, ...summary, skippedFile, mailboxes }, () =>
      [importSummary(summary, settings.db, skippedFile), ...mailboxLines(mailboxes, summary.inboxes, settings)].join(
        "\n",
      ),
    );
    return summary.read > 0 && summary.skipped.mails === summary.read ? EXIT.failed : EXIT.done;
  },
};
