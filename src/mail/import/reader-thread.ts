import { once } from "node:events";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { MimeThread } from "../mime/mime-thread-client.js";
import { setPartsDecoder } from "../mime/parse-email.js";
import { openCorpus } from "./corpus-formats.js";
import { prepareSource } from "./import-corpus.js";
import { packBatch, type ReadMessage, type ReadRequest, serializeError } from "./reader-client.js";

/** The reading thread. Posts the batches of a source. At most `ahead` of them wait for the main thread. */

async function read(port: MessagePort, { path, format, filter, ahead }: ReadRequest): Promise<void> {
  const post = (message: ReadMessage) => port.postMessage(message);
  let free = ahead;
  port.on("message", () => free++);
  try {
    const source = prepareSource(await openCorpus(path, format), filter);
    for await (const batch of source.batches(new AbortController().signal)) {
      while (free === 0) await once(port, "message");
      free--;
      post({ batch: packBatch(batch) });
    }
    post({ end: true });
  } catch (error) {
    post({ failure: serializeError(error) });
  }
}

if (parentPort !== null) {
  const mime = new MimeThread();
  setPartsDecoder((raw) => mime.decode(raw));
  await read(parentPort, workerData as ReadRequest);
  parentPort.close();
}
