import { hostname } from "node:os";
import { z } from "zod";
import type { CorpusServer } from "../../mail/corpus-transfer.js";
import { limitHeapGrowth } from "../../platform/async.js";
import type { CommandContext } from "../command.js";
import { concurrency, queueShape, queueUrlOf, tokenOf } from "../flags.js";
import { contradiction, defineCommand, text, wholeNumber } from "../read-flags.js";

const schema = z.object({
  ...queueShape,
  concurrency: concurrency.meta({
    description: "Tasks under way at once, or auto: as many as the server takes [default: auto]",
  }),
  name: z
    .string()
    .regex(/^[\w.-]{1,60}$/, "expected up to 60 letters, digits, dots and hyphens")
    .optional()
    .meta({ description: "What this worker is called [default: the machine's name]" }),
  lock: wholeNumber(2, 3_600)
    .default(60)
    .meta({ description: "Seconds without a sign from a worker after which others get its tasks" }),
  grace: wholeNumber(0, 86_400)
    .default(30)
    .meta({ description: "Seconds that tasks under way may take when the worker is stopped" }),
  allowPrograms: z
    .boolean()
    .default(false)
    .meta({ description: "Answer runs whose tools run programs or ask other servers, with this machine's rights" }),
  suite: text
    .optional()
    .meta({ description: "The folder of a suite whose tasks it answers too, in machines of this one" }),
  fetchCorpus: text.optional().meta({
    description: "Fetch the mail from art-e serve at this address, instead of --db; it is kept in the cache folder",
  }),
  tokenFile: text.optional().meta({ description: "A file with the token of that server [ART_E_TOKEN]" }),
});

export const workerCommand = defineCommand(schema, async (flags, context, argv) => {
  limitHeapGrowth();
  const queue = queueUrlOf(flags, context.settings);
  const corpus = corpusOf(flags, argv.db !== undefined, context);
  // BullMQ takes a fifth of a second to load.
  const { work } = await import("../../queue/worker.js");
  await work({ ...flags, suite: flags.suite ?? null, queue, corpus, name: flags.name ?? hostname() }, context);
});

/** Null: the mail is in a database of this machine. */
function corpusOf(
  { fetchCorpus, tokenFile }: z.output<typeof schema>,
  hasDb: boolean,
  { settings }: CommandContext,
): CorpusServer | null {
  if (fetchCorpus !== undefined && !hasDb) return { url: fetchCorpus, token: tokenOf({ tokenFile }, settings) };
  if (fetchCorpus === undefined && tokenFile === undefined) return null;
  throw fetchCorpus === undefined
    ? contradiction("--token-file is for --fetch-corpus.", "Give both, or neither.")
    : contradiction("--fetch-corpus and --db are given.", "Give one of them.");
}
