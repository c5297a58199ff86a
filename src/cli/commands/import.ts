// The command `import`: mail into the database.
import stringWidth from "string-width";
import { z } from "zod";
import { CORPUS_FORMATS } from "../../mail/email.js";
import { EMAILS_DATASET } from "../../mail/enron-emails.js";
import type { ImportOutcome, ImportProgress, ImportSummary, Skipped } from "../../mail/import.js";
import { commandLine } from "../../platform/command-line.js";
import { EXIT } from "../../platform/errors.js";
import { file, oneOf, text, toggle, wholeNumber } from "../../platform/flag-values.js";
import { compact } from "../../platform/optional-values.js";
import { count, counted, mailProgress, padToWidth, summaryBox } from "../../text/format.js";
import { contradiction, defineCommand } from "../flags/define-command.js";
import { openProgress, type Progress } from "../progress.js";
import type { Settings } from "../settings.js";

const FILTERS = ["none", "art"] as const;

export const importCommand = defineCommand(
  z.object({
    source: z
      .array(text)
      .default([])
      .meta({
        description: `Folders, tar and zip archives, mbox, .eml, CSV and Parquet files with mail [default: downloads ${EMAILS_DATASET}]`,
      }),
    csvPath: file.optional().meta({ description: "Alias of SOURCE", alias: "c" }),
    limit: wholeNumber(0).default(0).meta({ description: "Maximum number of emails to read (0 = all)", alias: "l" }),
    batchSize: wholeNumber(1, 1_000_000)
      .default(1_000)
      .meta({ description: "Emails per batch. Ctrl-C takes effect between batches [default: 1000]", alias: "b" }),
    filter: oneOf(FILTERS).default("none").meta({ description: "Filter: none, or art (ART's three rules)" }),
    format: oneOf(CORPUS_FORMATS)
      .optional()
      .meta({ description: `Format, if not recognized: ${CORPUS_FORMATS.join(", ")}` }),
    ownerMap: file
      .optional()
      .meta({ description: "TSV file with owner folder and address. Overrides the address found in the mail" }),
    strict: toggle.meta({ description: "Stop at the first unusable email, and import nothing" }),
  }),
  async (flags, context) => {
    const { settings, out, letSignalsEnd } = context;
    const { source, csvPath, limit, batchSize, filter, ownerMap, strict } = flags;
    if (source.length > 0 && csvPath !== undefined && source.join() !== csvPath) {
      throw contradiction(
        `SOURCE (${source.join(", ")}) and --csv-path (${csvPath}) differ.`,
        "Remove --csv-path, and pass all sources as SOURCE.",
      );
    }
    const sources = csvPath === undefined ? source : [csvPath];
    const { importMail } = await import("../../mail/import.js");
    const outcome = await importMail(
      { sources, format: flags.format ?? null, limit, batchSize, filter, ownerMap, strict },
      context,
      { ...importBars(settings), letSignalsEnd },
    );
    const { summary, seconds, skippedFile, mailboxes } = outcome;
    out.result({ db: settings.db, ...summary, seconds, skippedFile, mailboxes }, () =>
      [
        ...(settings.quiet ? [] : [importSummary(summary, seconds, settings.db)]),
        ...problemLines(outcome),
        ...(settings.quiet ? [] : mailboxLines(mailboxes, summary.inboxes)),
      ].join("\n"),
    );
    return summary.read > 0 && summary.skipped.mails === summary.read ? EXIT.failed : EXIT.done;
  },
);

/**
 * Lists the largest mailboxes, the number of other mailboxes, and a command that searches the largest one. Returns no
 * lines if there are no emails.
 */
function mailboxLines(mailboxes: ImportOutcome["mailboxes"], total: number): string[] {
  const [first] = mailboxes;
  if (first === undefined) return [];
  const width = Math.max(...mailboxes.map(({ address }) => stringWidth(address)));
  const sizes = mailboxes.map(({ mails }) => counted(mails, "email"));
  const sizeWidth = Math.max(...sizes.map((size) => size.length));
  const lines = mailboxes.map(({ address, basis }, i) => {
    const size = `  ${padToWidth(address, width)}  ${sizes[i]?.padStart(sizeWidth)}`;
    return basis === null ? size : `${size}  (${BASES[basis]})`;
  });
  const others = total - mailboxes.length;
  return compact([
    "Largest mailboxes:",
    ...lines,
    others > 0 && `  and ${count(others)} more`,
    `Next: ${commandLine`art-e search ${first.address} WORDS`}`,
  ]);
}

/** How the address of a mailbox was found. */
const BASES = {
  map: "owner map",
  source: "named in the source",
  delivered: "Delivered-To",
  sent: "sender of the sent mail",
  both: "sends and receives",
  received: "most frequent recipient",
} satisfies Record<NonNullable<ImportOutcome["mailboxes"][number]["basis"]>, string>;

function importSummary(summary: ImportSummary, seconds: number, file: string): string {
  const { dropped, skipped } = summary;
  const rows: [string, string][] = [
    ["Read", count(summary.read)],
    ["Forms", formCounts(summary.forms)],
    ["Stored", `${counted(summary.stored, "new message")} (${counted(summary.distinct, "distinct email")})`],
    ["Duplicates", `${count(summary.duplicates)} already existed`],
  ];
  if (summary.renamed > 0) rows.push(["Renamed", `${count(summary.renamed)} had the Message-ID of a different email`]);
  if (dropped !== null) {
    rows.push([
      "Dropped by ART's rules",
      `${count(dropped.long_body)} with a body over 5,000 characters, ${count(dropped.many_recipients)} with over 30 recipients, ${count(dropped.repeat)} repeats`,
    ]);
  }
  rows.push(["Skipped", skipped.mails === 0 ? "0" : `${count(skipped.mails)}: ${reasons(skipped)}`]);
  if (summary.damaged.mails > 0) {
    rows.push(["Damaged", `${count(summary.damaged.mails)} with a damaged winmail.dat, imported without what it lost`]);
  }
  const unresolved =
    summary.unresolvedOwners === 0
      ? ""
      : `, and ${counted(summary.unresolvedOwners, "folder")} without an address (name it in an --owner-map)`;
  rows.push(["Mailboxes", `${count(summary.inboxes)}${unresolved}`]);
  rows.push(["Time", `${seconds.toFixed(1)} s`]);
  return summaryBox(`ART-E Import (${summary.format} into ${file})`, rows);
}

/** Says what was not read. */
function problemLines({ summary, skippedFile }: ImportOutcome): string[] {
  return compact([
    ...summary.tables.map(tableLine),
    ...summary.skipped.first.map(({ where, reason }) => `skipped ${where}: ${reason}`),
    ...summary.damaged.first.map((path) => `damaged ${path}: its winmail.dat`),
    skippedFile !== null && `All skipped emails: ${skippedFile}`,
  ]);
}

/** Says what was not read from a table. */
function tableLine({
  where,
  unread,
  missing,
  dates,
  unreadDates,
  foreignCells,
}: ImportSummary["tables"][number]): string {
  return compact([
    `table ${where}:`,
    unread.length > 0 && `columns not read: ${unread.join(", ")}.`,
    missing.length > 0 && `No column for ${missing.join(", ")}.`,
    unreadDates > 0 && `${count(unreadDates)} of ${count(dates)} dates are not readable.`,
    foreignCells > 0 && `${count(foreignCells)} cells are not UTF-8 and were read as windows-1252.`,
  ]).join(" ");
}

function formCounts(forms: ImportSummary["forms"]): string {
  return (
    Object.entries(forms)
      .map(([form, mails]) => `${form} ${count(mails)}`)
      .join(", ") || "none"
  );
}

/** Number of skipped emails per reason, most frequent first. */
function reasons(skipped: Skipped): string {
  const sorted = Object.entries(skipped.reasons).sort(([, a], [, b]) => b - a);
  return sorted.map(([reason, mails]) => `${count(mails)} because ${reason}`).join(", ");
}

/** Shows one bar for reading and one for indexing. */
function importBars(settings: Settings) {
  let bar: Progress | null = null;
  let phase: ImportProgress["phase"] | null = null;
  let started = 0;
  return {
    show(progress: ImportProgress, format: string): void {
      if (progress.phase !== phase) {
        bar?.stop();
        phase = progress.phase;
        started = performance.now();
        bar =
          progress.phase === "read"
            ? openProgress(settings, `Reading ${format}`, progress.totalBytes)
            : openProgress(settings, "Indexing", progress.total);
      }
      const done = progress.phase === "read" ? progress.bytes : progress.mails;
      bar?.update(done, mailProgress(progress.mails, performance.now() - started));
    },
    stop: () => bar?.stop(),
  };
}
