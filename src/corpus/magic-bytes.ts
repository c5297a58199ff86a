import { open } from "node:fs/promises";

/** The first bytes of a file, fewer where it is shorter. Throws the system's error. */
export async function readHead(file: string, length: number): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** RFC 1952 2.3.1. */
export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}
