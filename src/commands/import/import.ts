import { z } from "zod";
import { openSkippedFile } from "../../app/import/skipped-file.js";
import { hubOf } from "../../app/settings/endpoints.js";
import { openCorpus } from "../../corpus/open-corpus.js";
import { readInWorker } from "../../corpus/read-in-worker.js";
import { EXIT, UserError } from "../../domain/errors.js";
import { CORPUS_FORMATS } from "../../domain/mail/email.js";
import { downloadEnronEmails } from "../../huggingface/enron-emails.js";
import { EMAILS_DATASET } from "../../huggingface/hub.js";
import {
  type ImportProgress,
  type ImportSummary,
  importCorpus,
  type NamedSource,
  type Skipped,
} from "../../ingest/import-corpus.js";
import { readOwnerMap } from "../../ingest/owner-map.js";
import { isSameFile } from "../../platform/same-file.js";
import { stripControls } from "../../platform/strip-controls.js";
import { count, rate } from "../../reports/text/format-number.js";
import { summaryBox } from "../../reports/text/summary-box.js";
import { importFailure, openForImport } from "../../store/import/atomic-import.js";
import type { Command, CommandContext } from "../cli/command.js";
import { Interrupted } from "../cli/interrupt.js";
import { openProgress, openProgressLater, type Progress } from "../cli/progress.js";
import { oneOf, readFlags, text, whole } from "../cli/read-flags.js";
import type { Settings } from "../cli/settings.js";

const FILTERS = ["none", "art"] as const;

const schema = z.object({
  source: z.union([text.transform((path) => [path]), z.array(text)]).default([]),
  csvPath: text.optional(),
  limit: whole(0).default(0),
  batchSize: whole(1, 1_000_000).default(1_000),
  filter: oneOf(FILTERS).default("none"),
  format: oneOf(CORPUS_FORMATS).optional(),
  ownerMap: text.optional(),
  strict: z.boolean().default(false),
});

/** Mails that are indexed before anybody tires of waiting: a few seconds. */
const QUICKLY_INDEXED = 50_000;

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
      describe: "Mails stored between two looks at Ctrl-C [default: 1000]",
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
  },
  async run(argv, context) {
    const flags = readFlags("import", schema, argv);
    const { settings, out, signal } = context;
    // Indexing is one long piece of work of SQLite; killed in it, the database is as it was.
    let isIndexing = false;
    let listenAgain = () => {};
    const { source, csvPath } = flags;
    if (source.length > 0 && csvPath !== undefined && source.join() !== csvPath) {
      throw new UserError(
        "flags_contradict",
        `SOURCE ${source.join(" ")} and --csv-path ${csvPath} name different sources.`,
        "Leave --csv-path out, and name all of them as SOURCE.",
      );
    }
    const ownerMap = flags.ownerMap === undefined ? new Map<string, string>() : readOwnerMap(flags.ownerMap);
    keepSource([...source, csvPath, flags.ownerMap], settings);
    const named = csvPath === undefined ? source : [csvPath];
    const paths = named.length > 0 ? named : [await download(context)];
    const format = flags.format ?? (named.length > 0 ? null : "parquet");
    const sources: NamedSource[] = [];
    for (const path of paths) {
      const corpus = await openCorpus(path, format);
      sources.push({ name: named.length > 0 ? path : EMAILS_DATASET, source: readInWorker(path, corpus) });
    }
    const started = performance.now();
    const file = openForImport(settings.db);
    const bars = importBars(settings, sources.length === 1 ? (sources[0]?.source.format ?? "") : "mail");
    const skipped = openSkippedFile(`${settings.db}.skipped.tsv`);
    try {
      const counts = await importCorpus(
        file.db,
        {
          sources,
          filter: flags.filter,
          limit: flags.limit,
          batchSize: flags.batchSize,
          ownerMap,
          strict: flags.strict,
          onSkipped: skipped.add,
        },
        (progress) => {
          if (progress.phase === "index" && progress.total > QUICKLY_INDEXED && !isIndexing) {
            isIndexing = true;
            listenAgain = context.letSignalsEnd();
          }
          bars.show(progress);
        },
        signal,
      );
      listenAgain();
      file.finish();
      bars.stop();
      const skippedFile = skipped.finish();
      const summary = { ...counts, seconds: (performance.now() - started) / 1000 };
      out.result({ db: settings.db, ...summary, skippedFile }, () => importSummary(summary, settings.db, skippedFile));
      return summary.read > 0 && summary.skipped.mails === summary.read ? EXIT.failed : EXIT.done;
    } catch (error) {
      bars.stop();
      skipped.abandon();
      if (file.db.open) file.abandon();
      if (!(error instanceof Interrupted)) throw importFailure(error, settings.db);
      throw new Interrupted(`import stopped: ${settings.db} is as it was before. Run the same command to start again.`);
    }
  },
};

/** What an import writes beside the database, or removes there as left over, must not be what it reads. */
function keepSource(read: readonly (string | undefined)[], { db }: Settings): void {
  for (const end of [".partial", ".skipped.tsv", ".skipped.tsv.partial"]) {
    const taken = read.find((path) => path !== undefined && isSameFile(path, `${db}${end}`));
    if (taken === undefined) continue;
    throw new UserError(
      "output_is_input",
      `${taken} is read by this import, which would write over it: it is the database's name with ${end}.`,
      "Give it another name first.",
    );
  }
}

async function download({ settings, out, signal }: CommandContext): Promise<string> {
  out.note(
    `Taking ${EMAILS_DATASET} (about 1 GB) into ${settings.cacheDir}; what is there already is not fetched again.`,
  );
  const started = performance.now();
  const bar = openProgressLater(settings, "Download");
  return downloadEnronEmails(hubOf(settings.env), settings.cacheDir, signal, (bytes, total) => {
    const speed = rate(bytes / 1e6, performance.now() - started).replace("/s", " MB/s");
    bar.update(bytes, total, `${megabytes(bytes)}  ${speed}`);
  }).finally(() => bar.stop());
}

/** One bar for reading, one for indexing. */
function importBars(settings: Settings, format: string) {
  let bar: Progress | null = null;
  let phase: ImportProgress["phase"] | null = null;
  let started = 0;
  return {
    show(progress: ImportProgress): void {
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
      bar?.update(done, `${count(progress.mails)} mails  ${rate(progress.mails, performance.now() - started)}`);
    },
    stop: () => bar?.stop(),
  };
}

function megabytes(bytes: number): string {
  return `${count(Math.round(bytes / 1e6))} MB`;
}

function importSummary(summary: ImportSummary, file: string, skippedFile: string | null): string {
  const { dropped, skipped } = summary;
  const rows: [string, string][] = [
    ["Read", count(summary.read)],
    ["Stored", `${count(summary.stored)} new messages, ${count(summary.distinct)} of them distinct mails`],
    ["Duplicates", `${count(summary.duplicates)} were here already`],
  ];
  if (summary.renamed > 0) rows.push(["Renamed", `${count(summary.renamed)} bore the Message-ID of a different mail`]);
  if (dropped !== null) {
    rows.push([
      "Dropped by ART's rules",
      `${count(dropped.long_body)} with a body over 5,000 characters, ${count(dropped.many_recipients)} with over 30 recipients, ${count(dropped.repeat)} repeats`,
    ]);
  }
  rows.push(["Skipped", skipped.mails === 0 ? "0" : `${count(skipped.mails)}: ${reasons(skipped)}`]);
  const unresolved =
    summary.unresolvedOwners === 0
      ? ""
      : `, and ${count(summary.unresolvedOwners)} folders without an address (name it in an --owner-map)`;
  rows.push(["Inboxes", `${count(summary.inboxes)}${unresolved}`]);
  rows.push(["Time", `${summary.seconds.toFixed(1)} s`]);
  const shown = skipped.first.map(({ where, reason }) => stripControls(`skipped ${where}: ${reason}`));
  if (skippedFile !== null) shown.push(`All skipped mails: ${skippedFile}`);
  return [summaryBox(`ART-E Import (${summary.format} into ${file})`, rows), ...shown].join("\n");
}

/** How many mails were skipped for each reason, the commonest first. */
function reasons(skipped: Skipped): string {
  const sorted = Object.entries(skipped.reasons).sort(([, a], [, b]) => b - a);
  return stripControls(sorted.map(([reason, mails]) => `${count(mails)} because ${reason}`).join(", "));
}
