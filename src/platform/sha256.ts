// SHA-256 digests of bytes and files, in lower-case hex.
import { createHash, hash } from "node:crypto";
import { createReadStream } from "node:fs";

export function sha256Of(data: Uint8Array | string): string {
  return hash("sha256", data);
}

/** Throws the signal's reason if it aborts. */
export async function sha256OfFile(path: string, signal: AbortSignal): Promise<string> {
  const digest = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    signal.throwIfAborted();
    digest.update(chunk);
  }
  return digest.digest("hex");
}
