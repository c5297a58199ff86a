import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { DEFAULT_RETRY, type RetryPolicy } from "../../src/platform/retry-delay.js";

interface Seen {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

export interface HubServer extends AsyncDisposable {
  readonly endpoint: string;
  /** The requests so far, in order. */
  readonly seen: readonly Seen[];
}

export type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** A real HTTP server on a free port. `count` is the number of the request, from 1. */
export async function startHub(handler: Handler): Promise<HubServer> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    seen.push({ path: request.url ?? "", headers: request.headers });
    handler(request, response, seen.length);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A separate folder per test, and hubs that are closed after it. */
export function hubSetup() {
  let folder = "";
  let servers: HubServer[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "hub-"));
    servers = [];
  });

  afterEach(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  return {
    folder: () => folder,
    async hub(handler: Handler): Promise<HubServer> {
      const server = await startHub(handler);
      servers.push(server);
      return server;
    },
  };
}

/** Sends the file like a hub: with an ETag, and only a part if Range requests it and If-Range matches. */
export function sendFile(request: IncomingMessage, response: ServerResponse, bytes: Buffer, etag = '"v1"'): void {
  const start = askedStart(request, etag);
  if (start !== null && start >= bytes.length) {
    response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
    return;
  }
  if (start === null) {
    response.writeHead(200, { etag, "content-length": bytes.length }).end(bytes);
    return;
  }
  const range = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
  response.writeHead(206, { etag, "content-range": range, "content-length": bytes.length - start });
  response.end(bytes.subarray(start));
}

export function sendJson(response: ServerResponse, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

/**
 * Starts to send the file, up to `until` bytes. The returned function ends the connection there. Call it once the
 * client has the bytes, to stop at a known offset.
 */
export function sendUntil(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  until: number,
  etag = '"v1"',
): () => void {
  const start = askedStart(request, etag) ?? 0;
  const status = start === 0 ? 200 : 206;
  const range = start === 0 ? {} : { "content-range": `bytes ${start}-${bytes.length - 1}/${bytes.length}` };
  response.writeHead(status, { etag, ...range, "content-length": bytes.length - start });
  response.write(bytes.subarray(start, until));
  return () => request.socket.destroy();
}

function askedStart(request: IncomingMessage, etag: string): number | null {
  const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? "");
  return range !== null && request.headers["if-range"] === etag ? Number(range[1]) : null;
}

/** Retries with almost no waiting. */
export const QUICK: RetryPolicy = { ...DEFAULT_RETRY, attempts: 4, baseMs: 1, totalMs: 60_000 };
export const ONCE: RetryPolicy = { ...QUICK, attempts: 1 };

export const never = new AbortController().signal;
