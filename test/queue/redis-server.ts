import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";

/** A Redis server for one test, on a free port, with its data in a temporary folder. */

export interface RedisServer {
  readonly port: number;
  /** URL of the server, including its password, if any. */
  readonly url: string;
  /** Client for a test's own queries. */
  readonly client: Redis;
  /** Kills the server like a power failure. Its files stay. */
  kill(): Promise<void>;
  /** Suspends the process: connections stay open, and nothing responds. */
  freeze(): void;
  /** Starts the server again with its existing files. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface RedisOptions {
  readonly password?: string;
  /** Whether every command is on the disk before its reply. */
  readonly isDurable?: boolean;
  /** Paths of a self-signed certificate and its key. The server then only accepts TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

export async function startRedis({ password, isDurable = false, tls }: RedisOptions = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-redis-"));
  const port = await freePort();
  const url = `${tls === undefined ? "redis" : "rediss"}://${password === undefined ? "" : `:${password}@`}127.0.0.1:${port}`;
  const trust = tls === undefined ? {} : { tls: { ca: readFileSync(tls.cert) } };
  const client = new Redis(url, { ...trust, lazyConnect: true, maxRetriesPerRequest: null, retryStrategy: () => 50 });
  client.on("error", () => undefined);
  let child: ChildProcess | null = null;
  const start = async () => {
    const durable = isDurable ? ["--appendonly", "yes", "--appendfsync", "always"] : ["--appendonly", "no"];
    const auth = password === undefined ? [] : ["--requirepass", password];
    const listen =
      tls === undefined ? ["--port", `${port}`] : ["--port", "0", "--tls-port", `${port}`, ...flagsOf(tls)];
    const common = ["--bind", "127.0.0.1", "--dir", folder, "--save", "", "--enable-debug-command", "local"];
    const args = [...listen, ...common, ...durable, ...auth];
    child = spawn("redis-server", args, { stdio: "ignore" });
    await isUp(url, trust);
  };
  const kill = async () => {
    const running = child;
    child = null;
    if (running === null || running.exitCode !== null) return;
    const ended = once(running, "exit");
    running.kill("SIGKILL");
    await ended;
  };
  await start();
  await client.connect();
  return {
    port,
    url,
    client,
    kill,
    freeze: () => void child?.kill("SIGSTOP"),
    start,
    async close() {
      client.disconnect();
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function flagsOf({ cert, key }: NonNullable<RedisOptions["tls"]>): string[] {
  return ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no"];
}

async function isUp(url: string, trust: { tls?: { ca: Buffer } }): Promise<void> {
  for (;;) {
    const probe = new Redis(url, { ...trust, lazyConnect: true, retryStrategy: () => null });
    probe.on("error", () => undefined);
    const isReady = await probe.connect().then(
      () => true,
      () => false,
    );
    probe.disconnect();
    if (isReady) return;
    await delay(20);
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
