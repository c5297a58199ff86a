import { readFile, rm, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { downloadFile } from "../../src/platform/download.js";
import { downloadSetup, FILE, SHA256, THIRD } from "./download-setup.js";
import { QUICK, sendFile, startHub } from "./hub-server.js";

const { cache, target, hub, request, left } = downloadSetup();

describe("what is refused", () => {
  it("a file that is not there, with how to do without", async () => {
    const server = await hub((_, res) => res.writeHead(404).end("Entry not found"));
    await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({
      name: "UserError",
      code: "download_failed",
      message: `could not download ${server.endpoint}/data/test.parquet: the server answered 404 (Not Found)`,
      hint: expect.stringContaining("--dataset FILE"),
    });
    expect(server.seen).toHaveLength(1);
    expect(await left()).toEqual([]);
  });

  it("a file one may not read, naming HF_TOKEN and the hub's own reason", async () => {
    const server = await hub((_, res) => res.writeHead(401, { "x-error-message": "Invalid credentials" }).end());
    await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({
      message: expect.stringContaining("401 (Invalid credentials)"),
      hint: expect.stringContaining("HF_TOKEN"),
    });
    expect(server.seen).toHaveLength(1);
  });

  it("a page that is no Parquet file, though it came with 200", async () => {
    const page = Buffer.from("<html><body>Please sign in to the network</body></html>");
    const server = await hub((req, res) => sendFile(req, res, page));
    await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({
      message: expect.stringContaining("does not begin and end with PAR1"),
    });
    expect(await left()).toEqual([]);
  });

  it("a file whose end is missing, though the server called it whole", async () => {
    const server = await hub((req, res) => sendFile(req, res, FILE.subarray(0, THIRD)));
    await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({ code: "download_failed" });
    expect(await left()).toEqual([]);
  });

  it("a file of another size than the known one, before it is transferred", async () => {
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await expect(downloadFile(request(server.endpoint, { expectedSize: 999 }))).rejects.toMatchObject({
      message: expect.stringContaining(`has ${FILE.length} bytes, not 999`),
    });
    expect(await left()).toEqual([]);
  });

  it("a file of another SHA-256 than the known one", async () => {
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await expect(downloadFile(request(server.endpoint, { expectedSha256: "0".repeat(64) }))).rejects.toMatchObject({
      message: expect.stringContaining(SHA256),
    });
    expect(await left()).toEqual([]);
  });

  it("more bytes than the known size, from a server that names no length", async () => {
    const server = await hub((_, res) => {
      res.write(FILE);
      res.end(FILE);
    });
    await expect(downloadFile(request(server.endpoint, { expectedSize: FILE.length }))).rejects.toMatchObject({
      message: expect.stringContaining("more than"),
    });
    expect(await left()).toEqual([]);
  });

  it("a server that fails again and again, after as many attempts as allowed", async () => {
    const server = await hub((_, res) => res.writeHead(503).end());
    await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({
      code: "download_failed",
      exitCode: 1,
    });
    expect(server.seen).toHaveLength(QUICK.attempts);
  });

  it("a server that asks to wait longer than the longest wait", async () => {
    const server = await hub((_, res) => res.writeHead(429, { "retry-after": "3600" }).end());
    await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({
      hint: expect.stringContaining("wait some minutes"),
    });
    expect(server.seen).toHaveLength(1);
  });

  it("a host that does not listen", async () => {
    const server = await startHub(() => {});
    await server[Symbol.asyncDispose]();
    await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({
      message: expect.stringContaining("ECONNREFUSED"),
      hint: expect.stringContaining("Check the connection"),
    });
  });

  it("a cache folder whose place is taken by a file", async () => {
    await writeFile(cache(), "");
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await expect(downloadFile(request(server.endpoint))).rejects.toMatchObject({
      code: "cache_unusable",
      hint: expect.stringContaining("--cache-dir"),
    });
  });
});

describe("a download", () => {
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

  it("is not made again while the cached file is right", async () => {
    const server = await hub((req, res) => sendFile(req, res, FILE));
    const first = await downloadFile(request(server.endpoint));
    expect(await downloadFile(request(server.endpoint))).toEqual(first);
    expect(server.seen).toHaveLength(1);
  });

  it.each([
    ["has one byte changed", () => writeFile(target(), Buffer.from(FILE).fill(0x58, 100, 101))],
    ["is cut short", () => writeFile(target(), FILE.subarray(0, THIRD))],
    ["is gone", () => rm(target())],
    ["has lost its record", () => rm(`${target()}.json`)],
    ["has a torn record", () => writeFile(`${target()}.json`, '{"url": "http')],
  ])("is made again where the cached file %s", async (_, damage) => {
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await downloadFile(request(server.endpoint));
    await damage();
    await downloadFile(request(server.endpoint));
    expect(server.seen).toHaveLength(2);
    expect(await readFile(target())).toEqual(FILE);
  });

  it("is made again for another revision", async () => {
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await downloadFile(request(server.endpoint));
    const record = await downloadFile(request(server.endpoint, { revision: "b".repeat(40) }));
    expect(record.revision).toBe("b".repeat(40));
    expect(server.seen).toHaveLength(2);
  });

  it("waits as a 429 says and goes on", async () => {
    const server = await hub((req, res, count) => {
      if (count === 1) res.writeHead(429, { "retry-after": "0" }).end();
      else sendFile(req, res, FILE);
    });
    await downloadFile(request(server.endpoint));
    expect(server.seen).toHaveLength(2);
  });

  it("works where the server names neither length nor ETag", async () => {
    const server = await hub((_, res) => res.end(FILE));
    const record = await downloadFile(request(server.endpoint));
    expect(record).toMatchObject({ size: FILE.length, etag: null });
  });

  it("follows a redirect to another host without showing it the token", async () => {
    const cdn = await hub((req, res) => sendFile(req, res, FILE));
    const server = await hub((_, res) => res.writeHead(302, { location: `${cdn.endpoint}/blob?signed=1` }).end());
    const record = await downloadFile(request(server.endpoint, { headers: { authorization: "Bearer hf_secret" } }));
    expect(server.seen[0]?.headers.authorization).toBe("Bearer hf_secret");
    expect(cdn.seen.map((seen) => seen.path)).toEqual(["/blob?signed=1"]);
    expect(cdn.seen[0]?.headers.authorization).toBeUndefined();
    expect(record.url).toBe(`${server.endpoint}/data/test.parquet`);
  });

  it("follows a redirect on the same host with the token", async () => {
    const server = await hub((req, res) => {
      if (req.url === "/renamed") sendFile(req, res, FILE);
      else res.writeHead(307, { location: "/renamed" }).end();
    });
    await downloadFile(request(server.endpoint, { headers: { authorization: "Bearer hf_secret" } }));
    expect(server.seen[1]?.headers.authorization).toBe("Bearer hf_secret");
  });
});
