import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type DownloadRequest, downloadFile } from "../../src/platform/download.js";
import { downloadSetup, FILE, SHA256, THIRD } from "./download-setup.js";
import { type Handler, ONCE, QUICK, sendFile, sendUntil, startHub } from "./hub-server.js";

describe("downloading a file", () => {
  const { cache, target, hub, request, left } = downloadSetup();

  describe("downloadFile with an unusable source or cache", () => {
    interface Refused {
      readonly handler: Handler;
      readonly changes?: Partial<DownloadRequest>;
      /** Part of the error message. */
      readonly says: string;
      readonly hint?: string;
      /** Number of requests before giving up. */
      readonly asked?: number;
    }

    const whole: Handler = (req, res) => sendFile(req, res, FILE);
    const page = Buffer.from("<html><body>Please sign in to the network</body></html>");

    it.each<[string, Refused]>([
      [
        "a missing file, and explains how to do without it",
        {
          handler: (_, res) => res.writeHead(404).end("Entry not found"),
          says: "/data/test.parquet: the server returned 404 (Not Found)",
          hint: "--dataset FILE",
        },
      ],
      [
        "a file without read access, and shows HF_TOKEN and the hub's own reason",
        {
          handler: (_, res) => res.writeHead(401, { "x-error-message": "Invalid credentials" }).end(),
          says: "401 (Invalid credentials)",
          hint: "HF_TOKEN",
        },
      ],
      [
        "an HTML page with status 200 instead of a Parquet file",
        { handler: (req, res) => sendFile(req, res, page), says: "does not start and end with PAR1" },
      ],
      [
        "a truncated file that the server sent as complete",
        {
          handler: (req, res) => sendFile(req, res, FILE.subarray(0, THIRD)),
          says: "does not start and end with PAR1",
        },
      ],
      [
        "a file that does not have the expected size, before it is transferred",
        { handler: whole, changes: { expectedSize: 999 }, says: `has ${FILE.length} bytes, not 999` },
      ],
      [
        "a file that does not have the expected SHA-256",
        { handler: whole, changes: { expectedSha256: "0".repeat(64) }, says: SHA256 },
      ],
      [
        "more bytes than the expected size, from a server that sends no length",
        {
          handler: (_, res) => {
            res.write(FILE);
            res.end(FILE);
          },
          changes: { expectedSize: FILE.length },
          says: "more than",
        },
      ],
      [
        "a server that keeps failing, after the maximum number of attempts",
        { handler: (_, res) => res.writeHead(503).end(), says: "503", asked: QUICK.attempts },
      ],
      [
        "a server that requests a longer wait than the maximum",
        {
          handler: (_, res) => res.writeHead(429, { "retry-after": "3600" }).end(),
          says: "429",
          hint: "Wait some minutes",
        },
      ],
    ])("causes an error about %s", async (_, { handler, changes, says, hint = "", asked = 1 }) => {
      const server = await hub(handler);
      const error = await downloadFile(request(server.endpoint, changes)).catch((thrown: Error) => thrown);
      expect(error).toMatchObject({ name: "UserError", code: "download_failed", exitCode: 1 });
      expect(error).toMatchObject({ message: expect.stringContaining(says), hint: expect.stringContaining(hint) });
      expect(error).toMatchObject({
        message: expect.stringContaining(`Cannot download ${server.endpoint}/data/test.parquet: `),
      });
      expect(server.seen).toHaveLength(asked);
      expect(await left()).toEqual([]);
    });

    it("causes an error about an unreachable host", async () => {
      const server = await startHub(() => {});
      await server[Symbol.asyncDispose]();
      await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({
        message: expect.stringContaining("ECONNREFUSED"),
        hint: expect.stringContaining("Check the connection"),
      });
    });

    it("causes an error about a cache folder that is a file", async () => {
      await writeFile(cache(), "");
      const server = await hub((req, res) => sendFile(req, res, FILE));
      await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({
        code: "cache_unusable",
        hint: expect.stringContaining("--cache-dir"),
      });
    });
  });

  describe("a download that succeeds", () => {
    it("leaves the file and its record, and nothing else", async () => {
      const server = await hub((req, res) => sendFile(req, res, FILE));
      const progress: [number, number | null][] = [];
      const record = await downloadFile(
        request(server.endpoint, { onProgress: (bytes, total) => void progress.push([bytes, total]) }),
      );
      expect(await readFile(target())).toEqual(FILE);
      expect(record).toMatchObject({ revision: "a".repeat(40), size: FILE.length, sha256: SHA256, etag: '"v1"' });
      expect(JSON.parse(await readFile(`${target()}.json`, "utf8"))).toEqual(record);
      expect(progress.at(-1)).toEqual([FILE.length, FILE.length]);
      expect(await left()).toEqual(["test.parquet", "test.parquet.json"]);
    });

    it("reuses the cached file while it is valid", async () => {
      const server = await hub((req, res) => sendFile(req, res, FILE));
      const first = await downloadFile(request(server.endpoint));
      expect(await downloadFile(request(server.endpoint))).toEqual(first);
      expect(server.seen).toHaveLength(1);
    });

    it.each([
      ["has one changed byte", () => writeFile(target(), Buffer.from(FILE).fill(0x58, 100, 101))],
      ["is truncated", () => writeFile(target(), FILE.subarray(0, THIRD))],
      ["is missing", () => rm(target())],
      ["has no record", () => rm(`${target()}.json`)],
      ["has a truncated record", () => writeFile(`${target()}.json`, '{"url": "http')],
    ])("starts again if the cached file %s", async (_, damage) => {
      const server = await hub((req, res) => sendFile(req, res, FILE));
      await downloadFile(request(server.endpoint));
      await damage();
      await downloadFile(request(server.endpoint));
      expect(server.seen).toHaveLength(2);
      expect(await readFile(target())).toEqual(FILE);
    });

    it("starts again for another revision", async () => {
      const server = await hub((req, res) => sendFile(req, res, FILE));
      await downloadFile(request(server.endpoint));
      const record = await downloadFile(request(server.endpoint, { revision: "b".repeat(40) }));
      expect(record.revision).toBe("b".repeat(40));
      expect(server.seen).toHaveLength(2);
    });

    it("waits as long as the server requests with 429, and continues", async () => {
      const server = await hub((req, res, count) => {
        if (count === 1) res.writeHead(429, { "retry-after": "0" }).end();
        else sendFile(req, res, FILE);
      });
      await downloadFile(request(server.endpoint));
      expect(server.seen).toHaveLength(2);
    });

    it("works if the server sends neither length nor ETag", async () => {
      const server = await hub((_, res) => res.end(FILE));
      const record = await downloadFile(request(server.endpoint));
      expect(record).toMatchObject({ size: FILE.length, etag: null });
    });

    it("follows a redirect to another host, but does not send the token there", async () => {
      const cdn = await hub((req, res) => sendFile(req, res, FILE));
      const server = await hub((_, res) => res.writeHead(302, { location: `${cdn.endpoint}/blob?signed=1` }).end());
      const record = await downloadFile(request(server.endpoint, { headers: { authorization: "Bearer hf_secret" } }));
      expect(server.seen[0]?.headers.authorization).toBe("Bearer hf_secret");
      expect(cdn.seen.map((seen) => seen.path)).toEqual(["/blob?signed=1"]);
      expect(cdn.seen[0]?.headers.authorization).toBeUndefined();
      expect(record.url).toBe(`${server.endpoint}/data/test.parquet`);
    });

    it("follows a redirect on the same host, and sends the token", async () => {
      const server = await hub((req, res) => {
        if (req.url === "/renamed") sendFile(req, res, FILE);
        else res.writeHead(307, { location: "/renamed" }).end();
      });
      await downloadFile(request(server.endpoint, { headers: { authorization: "Bearer hf_secret" } }));
      expect(server.seen[1]?.headers.authorization).toBe("Bearer hf_secret");
    });
  });
});

describe("resuming downloads", () => {
  const { cache, target, hub, request, left } = downloadSetup();

  /** A server that stops at each of these offsets, once the client has the bytes, and then sends the rest. */
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

  describe("an interrupted transfer", () => {
    it("continues from the last byte after each of two interruptions", async () => {
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

    it("fails after too many interruptions, keeps the downloaded part, and can be continued by a later run", async () => {
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

    it("continues more often than the maximum number of attempts if it makes progress", async () => {
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

    it("rejects with the signal's reason if the user interrupts it, leaves no final file, and can be continued", async () => {
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

  describe("a continued download", () => {
    /** A part of an earlier run: its bytes, and their ETag. */
    async function leavePart(name: string, bytes: Buffer, etag: string): Promise<void> {
      const path = join(cache(), name);
      await mkdir(path, { recursive: true });
      await writeFile(join(path, "bytes"), bytes);
      await writeFile(join(path, "state.json"), JSON.stringify({ etag }));
    }

    it("starts over if the file changed on the server", async () => {
      await leavePart("test.parquet.partial", Buffer.alloc(THIRD), '"older"');
      const server = await hub((req, res) => sendFile(req, res, FILE));
      await downloadFile(request(server.endpoint));
      expect(server.seen[0]?.headers["if-range"]).toBe('"older"');
      expect(await readFile(target())).toEqual(FILE);
    });

    it("treats the response as the entire file if the server ignores Range", async () => {
      await leavePart("test.parquet.partial", FILE.subarray(0, THIRD), '"v1"');
      const server = await hub((_, res) => {
        res.writeHead(200, { "content-length": FILE.length }).end(FILE);
      });
      await downloadFile(request(server.endpoint));
      expect(server.seen).toHaveLength(1);
      expect(await readFile(target())).toEqual(FILE);
    });

    it("does not append part of another file if the server supports Range but not If-Range", async () => {
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

    it("starts over if the part is damaged, which the SHA-256 reveals", async () => {
      await leavePart("test.parquet.partial", Buffer.alloc(THIRD, "P"), '"v1"');
      const server = await hub((req, res) => sendFile(req, res, FILE));
      await downloadFile(request(server.endpoint, { magic: undefined, expectedSha256: SHA256 }));
      expect(server.seen.map((seen) => seen.headers.range)).toEqual([`bytes=${THIRD}-`, undefined]);
      expect(await readFile(target())).toEqual(FILE);
    });

    it("transfers nothing if the part equals the file, which a 416 reveals", async () => {
      await leavePart("test.parquet.partial", FILE, '"v1"');
      const server = await hub((req, res) => sendFile(req, res, FILE));
      const record = await downloadFile(request(server.endpoint));
      expect(record.sha256).toBe(SHA256);
      expect(server.seen).toHaveLength(1);
    });

    it("starts over if the part is longer than the file", async () => {
      await leavePart("test.parquet.partial", Buffer.concat([FILE, FILE]), '"v1"');
      const server = await hub((req, res) => sendFile(req, res, FILE));
      await downloadFile(request(server.endpoint));
      expect(await readFile(target())).toEqual(FILE);
    });

    it("continues the part of a killed process", async () => {
      const machine = hostname().replace(/[^\w.-]/g, "_");
      // No process has this id, which is above the maximum on Linux, macOS and Windows.
      await leavePart(`test.parquet.partial-${machine}-2147483646-0a1b2c3d`, FILE.subarray(0, THIRD), '"v1"');
      const server = await hub((req, res) => sendFile(req, res, FILE));
      await downloadFile(request(server.endpoint));
      expect(server.seen[0]?.headers.range).toBe(`bytes=${THIRD}-`);
      expect(await left()).toEqual(["test.parquet", "test.parquet.json"]);
    });

    it("does not touch the part of a running process", async () => {
      const machine = hostname().replace(/[^\w.-]/g, "_");
      const name = `test.parquet.partial-${machine}-${process.ppid}-0a1b2c3d`;
      await leavePart(name, FILE.subarray(0, THIRD), '"v1"');
      const server = await hub((req, res) => sendFile(req, res, FILE));
      await downloadFile(request(server.endpoint));
      expect(server.seen[0]?.headers.range).toBeUndefined();
      expect(await left()).toEqual(["test.parquet", "test.parquet.json", name]);
    });

    it("leaves valid files, and nothing else, if one file is downloaded many times concurrently", async () => {
      const server = await hub((req, res) => sendFile(req, res, FILE));
      const records = await Promise.all(Array.from({ length: 8 }, () => downloadFile(request(server.endpoint))));
      expect(new Set(records.map((record) => record.sha256))).toEqual(new Set([SHA256]));
      expect(await readFile(target())).toEqual(FILE);
      expect(await left()).toEqual(["test.parquet", "test.parquet.json"]);
    });

    it("does not trust a file that has no record", async () => {
      await mkdir(cache(), { recursive: true });
      await writeFile(join(cache(), "other"), FILE.subarray(0, THIRD));
      await rename(join(cache(), "other"), target());
      const server = await hub((req, res) => sendFile(req, res, FILE));
      await downloadFile(request(server.endpoint));
      expect(await readFile(target())).toEqual(FILE);
    });
  });
});
