import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { downloadFile } from "../../src/platform/download.js";
import { downloadSetup, FILE, SHA256, THIRD } from "./download-setup.js";
import { type Handler, ONCE, QUICK, sendFile, sendUntil } from "./hub-server.js";

const { cache, target, hub, request, left } = downloadSetup();

/** A server that stops at each of these places, once the client holds the bytes; then it sends the rest. */
function cuttingAt(places: readonly number[], file = FILE) {
  let stop: { place: number; cut: () => void } | null = null;
  const handler: Handler = (req, res, count) => {
    const place = places[count - 1];
    if (place === undefined) sendFile(req, res, file);
    else stop = { place, cut: sendUntil(req, res, file, place) };
  };
  const onProgress = (bytes: number) => {
    if (bytes === stop?.place) stop.cut();
  };
  return { handler, onProgress };
}

describe("an interrupted download", () => {
  it("goes on after each of two cuts from where it stopped", async () => {
    const { handler, onProgress } = cuttingAt([THIRD, 2 * THIRD]);
    const server = await hub(handler);
    await downloadFile(request(server.endpoint, { onProgress }));
    expect(server.seen.map((seen) => seen.headers.range)).toEqual([
      undefined,
      `bytes=${THIRD}-`,
      `bytes=${2 * THIRD}-`,
    ]);
    expect(server.seen.slice(1).map((seen) => seen.headers["if-range"])).toEqual(['"v1"', '"v1"']);
    expect(await readFile(target())).toEqual(FILE);
  });

  it("fails after too many cuts, keeps its part, and a later run goes on from it", async () => {
    const { handler, onProgress } = cuttingAt([THIRD]);
    const server = await hub(handler);
    await expect(downloadFile(request(server.endpoint, { onProgress, retry: ONCE }))).rejects.toMatchObject({
      message: expect.stringContaining(`stopped after ${THIRD} of ${FILE.length} bytes`),
    });
    expect(await left()).toEqual(["test.parquet.partial"]);
    await downloadFile(request(server.endpoint));
    expect(server.seen[1]?.headers.range).toBe(`bytes=${THIRD}-`);
    expect(await readFile(target())).toEqual(FILE);
    expect(await left()).toEqual(["test.parquet", "test.parquet.json"]);
  });

  it("that brought much each time may be cut more often than the attempts allow", async () => {
    const large = Buffer.concat([FILE, Buffer.alloc(4 << 20, 7), FILE]);
    const { handler, onProgress } = cuttingAt(
      [1, 2, 3].map((n) => n * (1 << 20) + n),
      large,
    );
    const server = await hub(handler);
    await downloadFile(request(server.endpoint, { onProgress, retry: { ...QUICK, attempts: 2 } }));
    expect(server.seen).toHaveLength(4);
    expect(large.equals(await readFile(target()))).toBe(true);
  });

  it("by the user rejects with the signal's reason, leaves no final file, and can be continued", async () => {
    const abort = new AbortController();
    const reason = new Error("the user pressed Ctrl-C");
    const server = await hub((req, res, count) => {
      if (count === 1) sendUntil(req, res, FILE, THIRD);
      else sendFile(req, res, FILE);
    });
    const onProgress = (bytes: number) => {
      if (bytes === THIRD) abort.abort(reason);
    };
    await expect(downloadFile(request(server.endpoint, { onProgress, signal: abort.signal }))).rejects.toBe(reason);
    expect(await left()).toEqual(["test.parquet.partial"]);
    await downloadFile(request(server.endpoint));
    expect(server.seen[1]?.headers.range).toBe(`bytes=${THIRD}-`);
    expect(await readFile(target())).toEqual(FILE);
  });

  it("stops waiting when the user interrupts it", async () => {
    const abort = new AbortController();
    const server = await hub((_, res) => {
      res.writeHead(429, { "retry-after": "250" }).end(() => abort.abort(new Error("enough")));
    });
    const patient = { ...QUICK, totalMs: 600_000 };
    await expect(downloadFile(request(server.endpoint, { signal: abort.signal, retry: patient }))).rejects.toThrow(
      "enough",
    );
    expect(await left()).toEqual([]);
  });
});

describe("strange states", () => {
  /** A part of an earlier run: its bytes, and the ETag they came under. */
  async function leavePart(name: string, bytes: Buffer, etag: string): Promise<void> {
    const path = join(cache(), name);
    await mkdir(path, { recursive: true });
    await writeFile(join(path, "bytes"), bytes);
    await writeFile(join(path, "state.json"), JSON.stringify({ etag }));
  }

  it("the file has changed on the server: it is fetched anew", async () => {
    await leavePart("test.parquet.partial", Buffer.alloc(THIRD), '"older"');
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await downloadFile(request(server.endpoint));
    expect(server.seen[0]?.headers["if-range"]).toBe('"older"');
    expect(await readFile(target())).toEqual(FILE);
  });

  it("the server ignores Range: what it sends is taken as the whole file", async () => {
    await leavePart("test.parquet.partial", FILE.subarray(0, THIRD), '"v1"');
    const server = await hub((_, res) => {
      res.writeHead(200, { "content-length": FILE.length }).end(FILE);
    });
    await downloadFile(request(server.endpoint));
    expect(server.seen).toHaveLength(1);
    expect(await readFile(target())).toEqual(FILE);
  });

  it("the server heeds Range but not If-Range: the part of another file is not joined on", async () => {
    await leavePart("test.parquet.partial", Buffer.alloc(THIRD), '"older"');
    const server = await hub((req, res, count) => {
      if (count === 1) {
        const range = `bytes ${THIRD}-${FILE.length - 1}/${FILE.length}`;
        res.writeHead(206, { etag: '"v1"', "content-range": range }).end(FILE.subarray(THIRD));
      } else sendFile(req, res, FILE);
    });
    await downloadFile(request(server.endpoint));
    expect(await readFile(target())).toEqual(FILE);
  });

  it("the part is damaged: the SHA-256 tells, and the file is fetched anew", async () => {
    await leavePart("test.parquet.partial", Buffer.alloc(THIRD, "P"), '"v1"');
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await downloadFile(request(server.endpoint, { magic: undefined, expectedSha256: SHA256 }));
    expect(server.seen.map((seen) => seen.headers.range)).toEqual([`bytes=${THIRD}-`, undefined]);
    expect(await readFile(target())).toEqual(FILE);
  });

  it("the part is the whole file: a 416 says so, and nothing is sent again", async () => {
    await leavePart("test.parquet.partial", FILE, '"v1"');
    const server = await hub((req, res) => sendFile(req, res, FILE));
    const record = await downloadFile(request(server.endpoint));
    expect(record.sha256).toBe(SHA256);
    expect(server.seen).toHaveLength(1);
  });

  it("the part is longer than the file: it is fetched anew", async () => {
    await leavePart("test.parquet.partial", Buffer.concat([FILE, FILE]), '"v1"');
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await downloadFile(request(server.endpoint));
    expect(await readFile(target())).toEqual(FILE);
  });

  it("a killed process left a part: it is taken over", async () => {
    const machine = hostname().replace(/[^\w.-]/g, "_");
    // No process has this id: it is above the highest that Linux, macOS and Windows give.
    await leavePart(`test.parquet.partial-${machine}-2147483646-0a1b2c3d`, FILE.subarray(0, THIRD), '"v1"');
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await downloadFile(request(server.endpoint));
    expect(server.seen[0]?.headers.range).toBe(`bytes=${THIRD}-`);
    expect(await left()).toEqual(["test.parquet", "test.parquet.json"]);
  });

  it("a running process has a part: it is left alone", async () => {
    const machine = hostname().replace(/[^\w.-]/g, "_");
    const name = `test.parquet.partial-${machine}-${process.ppid}-0a1b2c3d`;
    await leavePart(name, FILE.subarray(0, THIRD), '"v1"');
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await downloadFile(request(server.endpoint));
    expect(server.seen[0]?.headers.range).toBeUndefined();
    expect(await left()).toEqual(["test.parquet", "test.parquet.json", name]);
  });

  it("many downloads of one file at once: each is right and nothing is left over", async () => {
    const server = await hub((req, res) => sendFile(req, res, FILE));
    const records = await Promise.all(Array.from({ length: 8 }, () => downloadFile(request(server.endpoint))));
    expect(new Set(records.map((record) => record.sha256))).toEqual(new Set([SHA256]));
    expect(await readFile(target())).toEqual(FILE);
    expect(await left()).toEqual(["test.parquet", "test.parquet.json"]);
  });

  it("a file put in place by hand, without a record, is not trusted", async () => {
    await mkdir(cache(), { recursive: true });
    await writeFile(join(cache(), "other"), FILE.subarray(0, THIRD));
    await rename(join(cache(), "other"), target());
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await downloadFile(request(server.endpoint));
    expect(await readFile(target())).toEqual(FILE);
  });
});
