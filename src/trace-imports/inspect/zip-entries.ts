import { Decompress } from "fzstd";
import { type Entry, openPromise, type ZipFile } from "yauzl";

/** A zip that cannot be read, or one of its entries. */
export class BrokenZip extends Error {
  override readonly name = "BrokenZip";
}

const ZSTANDARD = 93;

/** An entry is held in memory: some thousand times a usual sample. */
const MAX_ENTRY_BYTES = 256_000_000;

const MAX_ENTRIES = 2_000_000;

/** The entries of a zip file, read one at a time. Names lead nowhere: nothing is written by them. */
export class ZipEntries {
  private constructor(
    private readonly zip: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
  ) {}

  /** Throws `BrokenZip`, and what opening the file throws. */
  static async open(path: string): Promise<ZipEntries> {
    const zip = await orBroken(openPromise(path, { autoClose: false, decodeStrings: false }));
    try {
      const entries = new Map<string, Entry>();
      if (zip.entryCount > MAX_ENTRIES) throw new BrokenZip(`has more than ${MAX_ENTRIES} entries`);
      await orBroken(
        (async () => {
          for await (const entry of zip.eachEntry()) entries.set(entry.fileNameRaw.toString(), entry);
        })(),
      );
      return new ZipEntries(zip, entries);
    } catch (error) {
      zip.close();
      throw error;
    }
  }

  names(): readonly string[] {
    return [...this.entries.keys()];
  }

  /** An entry's text in UTF-8; null where there is none of the name. Throws `BrokenZip`. */
  async text(name: string): Promise<string | null> {
    const entry = this.entries.get(name);
    if (entry === undefined) return null;
    if (entry.uncompressedSize > MAX_ENTRY_BYTES) {
      throw new BrokenZip(`${name} is larger than ${MAX_ENTRY_BYTES / 1e6} MB`);
    }
    return orBroken(this.read(entry), `${name}: `);
  }

  close(): void {
    this.zip.close();
  }

  private async read(entry: Entry): Promise<string> {
    const isZstandard = entry.compressionMethod === ZSTANDARD;
    const stream = await this.zip.openReadStreamPromise(entry, isZstandard ? { decodeFileData: false } : {});
    const chunks: Uint8Array[] = [];
    let size = 0;
    const add = (chunk: Uint8Array) => {
      size += chunk.length;
      // What the zip says of sizes is checked by its reader for its own methods of compression only.
      if (size > entry.uncompressedSize) throw new BrokenZip("is larger than the zip says");
      chunks.push(chunk);
    };
    const decoder = new Decompress(add);
    for await (const chunk of stream) {
      if (isZstandard) decoder.push(chunk as Uint8Array);
      else add(chunk as Uint8Array);
    }
    if (size < entry.uncompressedSize) throw new BrokenZip("is smaller than the zip says");
    return Buffer.concat(chunks).toString();
  }
}

async function orBroken<T>(reading: Promise<T>, of = ""): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof Error) || "syscall" in error) throw error;
    throw new BrokenZip(`${of}${error.message}`, { cause: error });
  }
}
