import { parentPort } from "node:worker_threads";
import type { MimeReply, MimeRequest } from "./mime-thread-client.js";
import { decodeParts } from "./parse-email.js";

/** Entry point of the thread that `MimeThread` starts. Decodes one email at a time. */

const port = parentPort;
port?.on("message", ({ raw }: MimeRequest) => port.postMessage(reply(raw)));
port?.postMessage({ ready: true } satisfies MimeReply);

function reply(raw: Uint8Array): MimeReply {
  try {
    return { decoded: decodeParts(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)) };
  } catch (error) {
    return { error: `it cannot be parsed: ${String(error)}` };
  }
}
