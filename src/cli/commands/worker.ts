// The command `worker`: answers tasks of runs on a queue.
import { hostname } from "node:os";
import { z } from "zod";
import type { CorpusServer } from "../../mail/corpus-transfer.js";
import { concurrency, file, folder, toggle, url, wholeNumber } from "../../platform/flag-values.js";
import { limitHeapGrowth } from "../../platform/heap-growth.js";
import type { CommandContext } from "../command.js";
import { contradiction, defineCommand } from "../flags/define-command.js";
import { queueShape, queueUrlOf } from "../flags/queue-flag.js";
import { tokenOf } from "../flags/server-flags.js";

const schema = z.object({
  ...queueShape,
  concurrency: concurrency.default("auto").meta({
    description: "Maximum concurrent tasks, or auto (as many as the server accepts) [default: auto]",
  }),
  name: z
    .string()
    .regex(/^[\w.-]{1,60}$/, "expected up to 60 letters, digits, dots and hyphens")
    .optional()
    .meta({ description: "Worker name [default: the machine's name]" }),
  lock: wholeNumber(2, 3_600)
    .default(60)
    .meta({ placeholder: "SECONDS", description: "Seconds of silence after which other workers get its tasks" }),
  grace: wholeNumber(0, 86_400)
    .default(30)
    .meta({ placeholder: "SECONDS", description: "Seconds for running tasks to finish when the worker stops" }),
  allowPrograms: toggle.meta({
    description: "Answer runs whose tools run programs or send requests, with this machine's permissions",
  }),
  suite: folder.optional().meta({ description: "Suite folder. Also answers its tasks, in machines on this computer" }),
  fetchCorpus: url.optional().meta({
    description: "Download the mail from art-e serve at this URL into the cache folder, instead of --db",
  }),
  tokenFile: file.optional().meta({ description: "File with the token of that server [ART_E_TOKEN]" }),
});

export const workerCommand = defineCommand(schema, async (flags, context, argv) => {
  limitHeapGrowth();
  const queue = queueUrlOf(flags, context.settings);
  const corpus = corpusOf(flags, argv.db !== undefined, context);
  // BullMQ takes a fifth of a second to load.
  const { work } = await import("../../queue/worker.js");
  await work({ ...flags, suite: flags.suite ?? null, queue, corpus, name: flags.name ?? hostname() }, context);
});

/** Returns the server to fetch mail from, or null if the mail is in a database on this machine. */
function corpusOf(
  { fetchCorpus, tokenFile }: z.output<typeof schema>,
  hasDb: boolean,
  { settings }: CommandContext,
): CorpusServer | null {
  if (fetchCorpus !== undefined && !hasDb) return { url: fetchCorpus, token: tokenOf({ tokenFile }, settings) };
  if (fetchCorpus === undefined && tokenFile === undefined) return null;
  throw fetchCorpus === undefined
    ? contradiction("--token-file requires --fetch-corpus.", "Add --fetch-corpus URL, or remove --token-file.")
    : contradiction("--fetch-corpus and --db cannot be combined.", "Remove one of them.");
}
