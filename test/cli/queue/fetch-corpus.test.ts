import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type BetterSqlite3 from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { programVersion } from "../../../src/platform/program-files.js";
import { Database } from "../../../src/store/sqlite.js";
import { needs } from "../../machine-requirements.js";
import { type RedisServer, startRedis } from "../../queue/redis-server.js";
import { MAIL, QUESTIONS, type Started, workFolder } from "../art-e.js";

/** Workers without a mail database download it from the coordinator's server. */

const { artE, path, read, readJson, start } = workFolder({ mail: MAIL });
const TOKEN = "a-token-of-the-coordinator";
const RUN = `run -a baseline --model-id offline/baseline --dataset ${QUESTIONS} -l 10 --quiet`;
const withToken = { ART_E_TOKEN: TOKEN };

async function listen(server: Server): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Forwards requests, and truncates the first response of more than 50 KB in the middle. */
function cuttingProxy(target: () => string, seen: { path: string; headers: IncomingHttpHeaders }[]): Server {
  let hasCut = false;
  return createServer((request, response) => {
    seen.push({ path: request.url ?? "", headers: request.headers });
    const { host: _, ...headers } = request.headers;
    httpRequest(`${target()}${request.url}`, { headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      let sent = 0;
      answer.on("data", (chunk: Buffer) => {
        response.write(chunk);
        sent += chunk.length;
        if (hasCut || sent < 50_000) return;
        hasCut = true;
        answer.destroy();
        setTimeout(() => response.destroy(), 50);
      });
      answer.on("end", () => response.end());
      answer.on("error", () => undefined);
    }).end();
  });
}

describe("art-e worker --fetch-corpus", needs("redis"), () => {
  let redis: RedisServer;
  let serving: Started;
  let url = "";
  const started: Started[] = [];
  const servers: Server[] = [];
  const queue = () => ({ ART_E_QUEUE_URL: redis.url });
  const line = (address: string, cache: string) => `worker --fetch-corpus ${address} --cache-dir ${path(cache)}`;

  beforeAll(async () => {
    redis = await startRedis();
    // Tables that must not be copied.
    expect(await artE(`${RUN} -o here.json`)).toMatchObject({ code: 0 });
    expect(await artE("agents clone email-search my-agent")).toMatchObject({ code: 0 });
    serving = start("serve --port 0 --json", withToken);
    const [text] = (await once(serving.child.stdout as NodeJS.ReadableStream, "data")) as [string];
    ({ url } = JSON.parse(text) as { url: string });
  });
  afterAll(async () => {
    for (const { child, ended } of [...started, serving]) {
      child.kill("SIGKILL");
      await ended;
    }
    for (const server of servers) server.close().closeAllConnections();
    await redis?.close();
  });

  async function startWorker(address: string, cache: string) {
    const worker = start(line(address, cache), { ...queue(), ...withToken });
    started.push(worker);
    let said = "";
    worker.child.stderr?.on("data", (text: string) => {
      said += text;
    });
    await expect.poll(() => said, { timeout: 60_000 }).toContain("takes tasks from");
    return { ...worker, said: () => said };
  }

  it("answers questions from downloaded mail, resumes an interrupted download, and downloads the mail once", async () => {
    const seen: { path: string; headers: IncomingHttpHeaders }[] = [];
    const proxy = cuttingProxy(() => url, seen);
    servers.push(proxy);
    const address = await listen(proxy);
    await startWorker(address, "cache");
    const parts = seen.filter(({ path: asked }) => asked.endsWith("/snapshot"));
    expect(parts.map(({ headers }) => headers.range)).toEqual([undefined, expect.stringMatching(/^bytes=[1-9]\d+-$/)]);
    expect(parts[1]?.headers["if-range"]).toMatch(/^"[0-9a-f]{64}"$/);

    expect((await artE(`${RUN} -o over.json`, queue())).code).toBe(0);
    const { totalTasks, avgSemanticScore, corpusFingerprint } = readJson("over.json");
    expect(totalTasks).toBe(10);
    expect({ avgSemanticScore, corpusFingerprint }).toEqual({
      avgSemanticScore: readJson("here.json").avgSemanticScore,
      corpusFingerprint: readJson("here.json").corpusFingerprint,
    });

    const before = seen.length;
    const again = await startWorker(address, "cache");
    expect(seen.slice(before).map(({ path: asked }) => asked)).toEqual(["/api/corpus"]);
    expect(again.said()).not.toContain(TOKEN);
    expect(read("art-e.db")).not.toContain(TOKEN);
  });

  it("downloads only the mail, not the coordinator's runs, agents and chats", async () => {
    const files = readdirSync(path("cache/corpus"));
    expect(files.filter((name) => !/\.db(-wal|-shm)?$/.test(name))).toEqual([]);
    const db = new Database(path(join("cache/corpus", files.find((name) => name.endsWith(".db")) ?? "")));
    const one = (sql: string) => db.prepare(sql).pluck().get();
    expect(one("SELECT count(*) FROM mails")).toBe(311);
    for (const table of ["runs", "traces", "results", "art_e_tasks", "sessions", "eval_labels"]) {
      expect({ table, rows: one(`SELECT count(*) FROM ${table}`) }).toEqual({ table, rows: 0 });
    }
    expect(one("SELECT count(*) FROM agents WHERE builtin = 0")).toBe(0);
    db.prepare("INSERT INTO emails_fts (emails_fts, rank) VALUES ('integrity-check', 1)").run();
    db.close();
  });

  /** A server that sends arbitrary headers and content. */
  async function lyingServer(changes: {
    version?: string;
    change?: (db: BetterSqlite3.Database) => void;
    bytes?: number;
  }) {
    mkdirSync(path("lies"), { recursive: true });
    const file = path(`lies/${servers.length}.db`);
    const [honest = ""] = readdirSync(path("cache/corpus")).filter((name) => name.endsWith(".db"));
    const source = new Database(path(join("cache/corpus", honest)));
    await source.backup(file);
    source.close();
    const db = new Database(file);
    db.pragma("journal_mode = DELETE");
    changes.change?.(db);
    const fingerprint = db.prepare("SELECT fingerprint FROM corpus_state").pluck().get() as string;
    db.close();
    const database = readFileSync(file);
    const packed = gzipSync(database);
    const snapshot = {
      fingerprint,
      bytes: packed.length,
      sha256: createHash("sha256").update(packed).digest("hex"),
      database_bytes: changes.bytes ?? database.length,
    };
    const server = createServer((request, response) => {
      const isFile = request.url?.endsWith("/snapshot");
      response.end(
        isFile ? packed : JSON.stringify({ version: changes.version ?? programVersion(), fingerprint, snapshot }),
      );
    });
    servers.push(server);
    return listen(server);
  }

  it.each<[string, Parameters<typeof lyingServer>[0], RegExp]>([
    ["has another version", { version: "9.9.9" }, /the server runs art-e 9\.9\.9, but this is art-e 0\./],
    [
      "sends a database with a trigger",
      { change: (db) => db.exec("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM mails; END") },
      /its schema differs from this program's/,
    ],
    [
      "sends different mail than announced",
      { change: (db) => db.exec("DELETE FROM messages WHERE message_id = (SELECT min(message_id) FROM messages)") },
      /its mail does not match the announced fingerprint/,
    ],
    ["sends more mail than announced", { bytes: 4_096 }, /it is larger than announced/],
  ])("rejects a server that %s", async (_, changes, message) => {
    const cache = `refusing-${servers.length}`;
    const { code, stderr } = await artE(line(await lyingServer(changes), cache), queue());
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) });
    if (changes.version === undefined) {
      expect(readdirSync(path(`${cache}/corpus`)).filter((name) => /\.db$|\.tmp/.test(name))).toEqual([]);
    }
  });

  function describing(sizes: { readonly bytes: number; readonly database_bytes: number }): string {
    const fingerprint = "f".repeat(64);
    const snapshot = { fingerprint, sha256: "0".repeat(64), ...sizes };
    return JSON.stringify({ version: programVersion(), fingerprint, snapshot });
  }

  /** Sends `head`, then bytes until the client closes the connection. */
  function endless(response: ServerResponse, head: string): void {
    const chunk = Buffer.alloc(1_000_000, " ");
    response.write(head);
    const send = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", send);
    send();
  }

  it.each<[string, (response: ServerResponse, isFile: boolean) => void, RegExp]>([
    [
      "sends an endless description of its mail",
      (response) => endless(response, "{"),
      /the response is longer than 32000000 bytes/,
    ],
    [
      "announces more than the download limit",
      (response, isFile) => {
        if (isFile) endless(response.writeHead(200, { "content-length": 21e9 }), "x");
        else response.end(describing({ bytes: 21e9, database_bytes: 22e9 }));
      },
      /the file has 21000000000 bytes, and the maximum is 20000000000/,
    ],
    [
      "sends an endless file",
      (response, isFile) => {
        if (isFile) endless(response, "x");
        else response.end(describing({ bytes: 5_000, database_bytes: 10_000 }));
      },
      /the file has more than 5000 bytes, not 5000/,
    ],
  ])("stops reading from a server that %s", async (_, answer, message) => {
    const server = createServer((request, response) => answer(response, request.url?.endsWith("/snapshot") ?? false));
    servers.push(server);
    const { code, stderr } = await artE(line(await listen(server), `endless-${servers.length}`), queue());
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(message) });
    expect(stderr.trim().split("\n")).toHaveLength(2);
  });

  it("reports a wrong URL, token or flag", async () => {
    const plain = createServer((_, response) => response.writeHead(404).end());
    servers.push(plain);
    const elsewhere = await listen(plain);
    copyFileSync(path("art-e.db"), path("own.db"));
    const refused: [string, Record<string, string>, RegExp][] = [
      [line(url, "x"), {}, /returned 401.*\n.*Set ART_E_TOKEN/],
      [line(elsewhere, "x"), withToken, /returned 404.*\n.*Check that art-e serve runs at this URL/],
      [line("ftp://x", "x"), {}, /--fetch-corpus: expected the URL of art-e serve/],
      [`${line(url, "x")} --db own.db`, {}, /--fetch-corpus and --db cannot be combined/],
      ["worker --token-file own.db", {}, /--token-file requires --fetch-corpus/],
    ];
    for (const [words, variables, message] of refused) {
      const { code, stderr } = await artE(words, { ...queue(), ...variables });
      expect(stderr).toMatch(message);
      expect(code).toBeGreaterThan(0);
    }
  });
});
