const LENGTHS = 8;
/** What the guest may send at once: the output of a command, or a part of a file. */
const MOST_HEAD = 64 * 2 ** 10;
const MOST_BODY = 16 * 2 ** 20;

export interface Frame {
  readonly head: unknown;
  readonly body: Buffer;
}

/** Two lengths, a JSON object and raw bytes. */
export function toFrame(head: object, body: Buffer = Buffer.alloc(0)): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const lengths = Buffer.alloc(LENGTHS);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(body.length, 4);
  return Buffer.concat([lengths, text, body]);
}

/** Takes frames out of a stream's chunks. What comes from the machine may be anything: throws where it is no frame. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  *read(chunk: Buffer): Generator<Frame> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= LENGTHS) {
      const lengths = this.#join(LENGTHS);
      const [head, body] = [lengths.readUInt32BE(0), lengths.readUInt32BE(4)];
      if (head > MOST_HEAD || body > MOST_BODY) throw new Error("the machine's answer is no frame");
      const end = LENGTHS + head + body;
      if (this.#bytes < end) return;
      const frame = this.#join(end);
      this.#chunks = [frame.subarray(end)];
      this.#bytes -= end;
      yield {
        head: JSON.parse(frame.toString("utf8", LENGTHS, LENGTHS + head)),
        body: frame.subarray(LENGTHS + head, end),
      };
    }
  }

  /** The received bytes in one piece where the first is shorter than this. */
  #join(bytes: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= bytes) return first;
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}
