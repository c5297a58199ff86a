import { setTimeout as delay } from "node:timers/promises";
import { stripControls } from "../../platform/strip-controls.js";
import { parseQueueUrl } from "../../queue/queue-url.js";
import { connectRedis } from "../../queue/redis-connection.js";
import { limitPageCache, openReadOnly, openStore } from "../../store/connection/open-store.js";
import { readFingerprint } from "../../store/import/corpus-stats.js";
import { openExternalResources } from "../../tools/external/external-connections.js";
import { openMailbox } from "../../tools/open-mailbox.js";
import { SearchPool } from "../../tools/search-pool/search-pool.js";
import { type CorpusServer, fetchCorpus } from "../corpus-snapshot/fetch-snapshot.js";
import { programVersion } from "../settings/program-version.js";
import { identifySuite } from "../suites/suite-digest.js";
import type { AppContext } from "../use-case-context.js";
import { lostConnectionNotes } from "./note-lost-connection.js";
import { shorten, type WorkerTerms } from "./refuse-run.js";
import { RunsOfWorker } from "./runs-of-worker.js";

export interface WorkOptions {
  /** Address of the queue; may hold a password. */
  readonly queue: string;
  readonly name: string;
  readonly concurrency: number | "auto";
  /** Seconds without a sign after which a worker's tasks are given to others. */
  readonly lock: number;
  /** Seconds that tasks under way may take when the worker is stopped. */
  readonly grace: number;
  readonly allowPrograms: boolean;
  /** Folder of a suite whose tasks it answers; null: questions only. */
  readonly suite: string | null;
  /** Where the mail comes from; null: it is in the database of the settings. */
  readonly corpus: CorpusServer | null;
}

/** How often a worker looks for runs, and shows itself. */
const LOOK_EVERY_MS = 1_000;

/**
 * Answers tasks of the runs on a queue until it is told to stop. What is under way then may be finished for some time,
 * and is given back after it.
 */
export async function work(options: WorkOptions, context: AppContext): Promise<void> {
  const { note } = context;
  const settings = { ...context.settings };
  if (options.corpus !== null) settings.db = await fetchCorpus(options.corpus, context);
  const suite = options.suite === null ? null : { path: options.suite, ...identifySuite(options.suite) };
  // Tasks of suites need no mail.
  const db = openStore(settings.db, { mustExist: suite === null });
  limitPageCache(db);
  const mailDb = openReadOnly(settings.db);
  const searchThreads = new SearchPool(settings.db);
  const outside = openExternalResources(settings.env);
  try {
    const address = parseQueueUrl(options.queue);
    const redis = await connectRedis(address, lostConnectionNotes(address, note));
    const shared = {
      redis,
      name: options.name,
      tools: { mailbox: openMailbox(mailDb), searchThreads, outside },
      suite,
      context: { ...context, settings, note: (text: string) => note(stripControls(text)) },
      concurrency: options.concurrency,
      lockMs: options.lock * 1_000,
    };
    const terms = (): WorkerTerms => ({
      programVersion: programVersion(),
      corpusFingerprint: readFingerprint(mailDb),
      db: settings.db,
      suite,
      allowPrograms: options.allowPrograms,
      env: settings.env,
    });
    const mail = terms().corpusFingerprint;
    note(`art-e: worker ${options.name} takes tasks from ${address.shown}, about ${mailText(mail)}.`);
    const runs = new RunsOfWorker(shared, terms);
    const stopNow = context.untilSecond(() => stoppingText(runs.underWay, options.grace));
    try {
      await takeTasks(runs, context.signal);
      await runs.stop(options.grace * 1_000, stopNow);
    } finally {
      await runs.close();
      redis.disconnect();
    }
  } finally {
    await Promise.all([searchThreads.close(), outside.close()]);
    mailDb.close();
    db.close();
  }
}

async function takeTasks(runs: RunsOfWorker, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await runs.look();
    await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

function mailText(fingerprint: string | null): string {
  return fingerprint === null ? "no mail: its database has none" : `the mail ${shorten(fingerprint)}`;
}

function stoppingText(tasks: number, grace: number): string {
  if (tasks === 0) return "Stopping.";
  const what = tasks === 1 ? "1 task" : `${tasks} tasks`;
  return `Stopping: ${what} under way may be finished within ${grace} s; once more to give them back now.`;
}
