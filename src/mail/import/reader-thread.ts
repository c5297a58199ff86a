// The reading thread of an import. Each call returns the next batch of the source, or null at its end.
import { workerData } from "node:worker_threads";
import { NEVER } from "../../platform/deadline.js";
import { serveCalls } from "../../platform/worker-rpc.js";
import { MimeDecoder } from "../mime/mime-decoder.js";
import { setPartsDecoder } from "../mime/parse-email.js";
import { openCorpus } from "./corpus-formats.js";
import { prepareSource } from "./import-corpus.js";
import type { ReadRequest } from "./import-reader.js";
import { type PackedBatch, packBatch } from "./packed-batch.js";

const mime = new MimeDecoder();
setPartsDecoder((raw) => mime.decode(raw));

async function* batchesOf({ path, format, filter }: ReadRequest) {
  const source = prepareSource(await openCorpus(path, format), filter);
  yield* source.batches(NEVER);
}

const batches = batchesOf(workerData as ReadRequest);

serveCalls(async (): Promise<PackedBatch | null> => {
  const { done, value } = await batches.next();
  return done === true ? null : packBatch(value);
});
