// The thread of `MimeDecoder`.
import { serveCalls } from "../../platform/worker-rpc.js";
import { decodeParts } from "./parse-email.js";

serveCalls(
  (raw: Uint8Array) => decodeParts(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)),
  (error) => ({ message: String(error) }),
);
