import { parentPort } from "node:worker_threads";
import { decodeWithLibrary } from "./mime-body.js";
import type { MimeReply, MimeRequest } from "./mime-thread-client.js";

/** The thread of `MimeThread`: decodes one mail at a time. */

const port = parentPort;
port?.on("message", ({ raw, bodyStart }: MimeRequest) => {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  decodeWithLibrary(bytes.subarray(bodyStart), bytes).then(
    (decoded) => port.postMessage({ decoded } satisfies MimeReply),
    (error: unknown) => port.postMessage({ error: String(error) } satisfies MimeReply),
  );
});
port?.postMessage({ ready: true } satisfies MimeReply);
