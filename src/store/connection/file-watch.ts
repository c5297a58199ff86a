import { closeSync, openSync, readSync, statSync } from "node:fs";

/** What can happen to a database file while it is open. */
export type FileFault = "deleted" | "replaced" | "truncated";

/** Checks that a path still names the file that was opened. SQLite does not: it goes on writing to a deleted file. */
export class FileWatch {
  private readonly ino: bigint;
  private readonly dev: bigint;
  private largest: bigint;

  constructor(private readonly path: string) {
    const { ino, dev, size } = statSync(path, { bigint: true });
    this.ino = ino;
    this.dev = dev;
    this.largest = size;
  }

  /** Costs one stat call. */
  check(): FileFault | null {
    const now = statSync(this.path, { bigint: true, throwIfNoEntry: false });
    if (now === undefined) return "deleted";
    if (now.ino !== this.ino || now.dev !== this.dev) return "replaced";
    if (now.size < this.largest && this.isShort(now.size)) return "truncated";
    if (now.size > this.largest) this.largest = now.size;
    return null;
  }

  /** A vacuumed file is smaller too, but as long as its header says. */
  private isShort(size: bigint): boolean {
    const header = Buffer.alloc(32);
    const file = openSync(this.path, "r");
    try {
      if (readSync(file, header, 0, header.length, 0) < header.length) return true;
    } finally {
      closeSync(file);
    }
    const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
    return size < BigInt(pageSize) * BigInt(header.readUInt32BE(28));
  }
}
