import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectRedis, parseQueueUrl } from "../../src/queue/connection/redis.js";
import { RunQueue, TaskWorker } from "../../src/queue/protocol/run-queue.js";
import { needs } from "../machine-requirements.js";
import { type RedisServer, startRedis } from "./redis-server.js";

/** Connections that break between a command and its reply: Redis has executed the command, and the worker cannot know. */

/** A proxy of a Redis server that can withhold its replies from a certain command on. */
async function startProxy(port: number) {
  let lastCommand: RegExp | null = null;
  let isWithholding = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const redis = connect(port, "127.0.0.1");
    const pair = [client, redis];
    for (const socket of pair) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        for (const other of pair) other.destroy();
        sockets.delete(socket);
      });
    }
    client.on("data", (bytes) => {
      isWithholding ||= lastCommand?.test(bytes.toString("latin1")) === true;
      redis.write(bytes);
    });
    redis.on("data", (bytes) => {
      if (!isWithholding) client.write(bytes);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as { port: number }).port,
    withholdFrom(command: RegExp) {
      lastCommand = command;
    },
    /** Ends all connections. New ones get their replies again. */
    cut() {
      lastCommand = null;
      isWithholding = false;
      cut();
    },
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

/** BullMQ's lock token. */
const TAKE_TASK = /[0-9a-f]{8}-[0-9a-f-]{27}:\d/;
const SEND_RESULT = /"worker":"w"/;

const RUN = "run_20010101-000000_abcdef";
const question = {
  id: 1,
  question: "When?",
  answer: "Now",
  message_ids: [],
  how_realistic: 1,
  inbox_address: "a@b.example",
  query_date: "2001-01-01",
};

describe("a worker whose connection breaks before a reply", needs("redis"), () => {
  let redis: RedisServer;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let queue: RunQueue;
  let answered: string[];
  let dropped: [id: string, isResent: boolean][];
  let stop: () => Promise<void>;

  beforeEach(async () => {
    redis = await startRedis();
    proxy = await startProxy(redis.port);
    queue = new RunQueue(redis.client, RUN);
    [answered, dropped] = [[], []];
    const address = parseQueueUrl(`redis://127.0.0.1:${proxy.port}`);
    const ignore = () => undefined;
    const connection = await connectRedis(address, { lost: ignore, refused: ignore, restored: ignore });
    const worker = new TaskWorker(connection, {
      runId: RUN,
      name: "w",
      slots: 1,
      // An hour: no lock expires during a test.
      lockMs: 3_600_000,
      async answer({ task }) {
        const id = `${"suiteTask" in task ? task.suiteTask : task.id}`;
        answered.push(id);
        return { worker: "w", trace: "", isHeld: false, abandoned: null, server: "answering" };
      },
      onDropped: (id, isResent) => dropped.push([id, isResent]),
      onFault(error) {
        throw error;
      },
    });
    stop = async () => {
      await worker.close();
      connection.abandon();
    };
  });
  afterEach(async () => {
    await stop();
    await queue.close();
    await proxy.close();
    await redis.close();
  });

  const add = (...ids: number[]) =>
    queue.add(ids.map((id) => ({ id: `e1-${id}`, message: { task: { ...question, id }, epoch: 1 } })));
  const finished = async () => (await queue.finishedIds(10)).toSorted();

  it("gives back a task that it did not receive, and answers it before its lock expires", async () => {
    await add(1);
    await expect.poll(finished).toEqual(["e1-1"]);
    proxy.withholdFrom(TAKE_TASK);
    await add(2);
    await expect.poll(async () => (await queue.counts()).active).toBe(1);
    expect(answered).toEqual(["1"]);
    proxy.cut();
    await expect.poll(finished).toEqual(["e1-1", "e1-2"]);
    expect({ answered, dropped }).toEqual({ answered: ["1", "2"], dropped: [] });
  });

  it("answers a task that Redis gave it in the lost confirmation of a result, and reports the result as sent again", async () => {
    proxy.withholdFrom(SEND_RESULT);
    await add(1, 2);
    await expect.poll(async () => [...(await finished()), (await queue.counts()).active]).toEqual(["e1-1", 1]);
    expect(answered).toEqual(["1"]);
    proxy.cut();
    await expect.poll(finished).toEqual(["e1-1", "e1-2"]);
    expect({ answered, dropped }).toEqual({ answered: ["1", "2"], dropped: [["e1-1", true]] });
  });
});
