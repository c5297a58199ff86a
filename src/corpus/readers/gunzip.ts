import { createGunzip } from "node:zlib";

/** Decompresses a stream. Unlike a pipe, yields all output before the error of a truncated or damaged file. */
export async function* gunzip(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const stream = createGunzip({ chunkSize: 256 * 1024 });
  let ready: Buffer[] = [];
  let failure: Error | null = null;
  stream.on("data", (chunk: Buffer) => ready.push(chunk));
  stream.on("error", (error) => {
    failure = error;
  });
  const closed = new Promise<void>((resolve) => stream.once("close", resolve));
  const take = () => {
    const chunks = ready;
    ready = [];
    return chunks;
  };
  try {
    for await (const chunk of compressed) {
      const written = new Promise<void>((resolve) => stream.write(chunk, () => resolve()));
      await Promise.race([written, closed]);
      yield* take();
      if (stream.destroyed) break;
    }
    if (!stream.destroyed) stream.end();
    await closed;
    yield* take();
    if (failure !== null) throw failure;
  } finally {
    stream.destroy();
  }
}
