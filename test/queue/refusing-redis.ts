import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { expect } from "vitest";
import { freePort } from "./redis-server.js";

/** Ways to make a real Redis server temporarily refuse commands. Each returns a function that ends the refusal. */
export const REFUSALS: Readonly<Record<string, (redis: Redis) => Promise<() => Promise<unknown>>>> = {
  async OOM(redis) {
    await redis.config("SET", "maxmemory", "1");
    return () => redis.config("SET", "maxmemory", "0");
  },

  async READONLY(redis) {
    // The master does not exist, so the server keeps its data and answers reads.
    await redis.replicaof("127.0.0.1", await freePort());
    return () => redis.replicaof("NO", "ONE");
  },

  async NOAUTH(redis) {
    await redis.config("SET", "requirepass", "a-new-password");
    // Connections that are already open stay authenticated.
    await redis.client("KILL", "TYPE", "normal", "SKIPME", "yes");
    return () => redis.config("SET", "requirepass", "");
  },

  async MISCONF(redis) {
    const [, folder = ""] = (await redis.config("GET", "dir")) as string[];
    // A snapshot cannot replace a folder.
    mkdirSync(join(folder, "dump.rdb"));
    await redis.config("SET", "save", "3600 1");
    await redis.bgsave();
    await expect.poll(() => redis.info("persistence")).toContain("rdb_last_bgsave_status:err");
    return () => redis.config("SET", "save", "");
  },

  async LOADING(redis) {
    const fillers = Array.from({ length: LOADED_KEYS }, (_, i) => [`filler:${i}`, "x".repeat(2_048)]);
    await redis.mset(...fillers.flat());
    await redis.config("SET", "loading-process-events-interval-bytes", "1024");
    await redis.config("SET", "key-load-delay", `${LOAD_DELAY_US}`);
    // Answers other connections with LOADING until it is done.
    const reloaded = redis.debug("RELOAD");
    return async () => {
      await reloaded;
      await redis.config("SET", "key-load-delay", "0");
      await redis.del(fillers.map(([key = ""]) => key));
    };
  },
};

const LOADED_KEYS = 200;
const LOAD_DELAY_US = 15_000;
