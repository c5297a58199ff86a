import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunManifest, showWorker, type WorkerState } from "../../src/queue/protocol/shared-state.js";
import { WorkersWatch } from "../../src/queue/status.js";
import { needs } from "../machine-requirements.js";
import { type RedisServer, startRedis } from "./redis-server.js";

describe("WorkersWatch", needs("redis"), () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.close());

  const runId = "run_1";
  const answering = { attempt: "1", active: 0, answered: 0, perSecond: 0, waitingFor: null };
  const showWorkers = async () => {
    for (const name of ["a", "b"]) {
      const state = { id: name, name, programVersion: "1", slots: 1, runs: { [runId]: answering } };
      await showWorker(redis.client, { ...state, refused: {}, faults: {} });
    }
  };

  it("reports missing workers only if no worker has answered the run several times in a row", async () => {
    const notes: string[] = [];
    const watch = new WorkersWatch(redis.client, { runId } as RunManifest, (text) => notes.push(text));
    const look = async (times: number) => {
      for (let i = 0; i < times; i++) await watch.look(0);
    };
    await look(4);
    await showWorkers();
    await look(20);
    // Redis returns empty, and the workers need some seconds to publish their state again.
    await redis.client.flushall();
    await look(4);
    await showWorkers();
    await look(1);
    expect(notes).toEqual([]);
    await redis.client.flushall();
    await look(20);
    expect(notes).toEqual([expect.stringContaining("no worker is working on this run")]);
  });

  it("counts a worker of a later version, whose state has more fields", async () => {
    const later = { id: "c", name: "c", programVersion: "9.9.9", slots: 1, refused: {}, faults: {}, memory: 1 };
    await showWorker(redis.client, { ...later, runs: { [runId]: { ...answering, since: "now" } } } as WorkerState);
    const watch = new WorkersWatch(redis.client, { runId } as RunManifest, () => undefined);
    await watch.look(0);
    expect(watch.state().workers).toEqual([{ name: "c", perSecond: 0 }]);
    expect(await watch.isKnownEverywhere("1")).toBe(true);
    expect(await watch.isKnownEverywhere("2")).toBe(false);
  });
});
