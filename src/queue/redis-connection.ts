import { Redis } from "ioredis";
import { UserError } from "../domain/errors.js";
import { redact } from "../domain/redact.js";
import type { QueueAddress } from "./queue-url.js";

/** Told once when the connection is lost, and once when it is there again. */
export interface ConnectionListener {
  lost(why: string): void;
  restored(): void;
}

/** Longest pause between two attempts to reconnect. */
const LONGEST_PAUSE_MS = 3_000;

/** A server that does not accept the connection within this time is not there. */
const CONNECT_MS = 10_000;

/**
 * Connects, or throws a UserError. From then on a lost connection is restored by itself, and commands wait for it.
 */
export async function connectRedis(address: QueueAddress, listener: ConnectionListener): Promise<Redis> {
  const redis = new Redis(address.url, {
    lazyConnect: true,
    maxRetriesPerRequest: null,
    connectTimeout: CONNECT_MS,
    retryStrategy: (attempts) => Math.min(LONGEST_PAUSE_MS, 50 * 2 ** Math.min(attempts, 10)),
  });
  let last = "";
  let isUp = false;
  redis.on("error", (error: Error) => {
    last = redact(messageOf(error), address.secrets);
  });
  try {
    await redis.connect();
    await checkMemoryPolicy(redis, address);
  } catch (error) {
    redis.disconnect();
    if (error instanceof UserError) throw error;
    throw unreachable(address, last || redact(messageOf(error as Error), address.secrets));
  }
  isUp = true;
  redis.on("close", () => {
    if (isUp && redis.status !== "end") listener.lost(last || "the connection was closed");
    isUp = false;
  });
  redis.on("ready", () => {
    if (!isUp) listener.restored();
    isUp = true;
    last = "";
  });
  return redis;
}

function messageOf(error: Error): string {
  // Of a host with several addresses, one error for each.
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  return (first ?? error).message || error.name;
}

function unreachable({ shown }: QueueAddress, why: string): UserError {
  return new UserError(
    "queue_unreachable",
    `The queue at ${shown} cannot be used: ${why.replace(/\.$/, "")}.`,
    "See that Redis runs there, and that address, user and password are right (--queue, ART_E_QUEUE_URL).",
    1,
  );
}

/** A server that evicts keys when its memory is full would lose tasks and results. */
async function checkMemoryPolicy(redis: Redis, { shown }: QueueAddress): Promise<void> {
  const info = await redis.info("memory");
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
  const policy = field("maxmemory_policy");
  if ((field("maxmemory") ?? "0") === "0" || policy === undefined || policy === "noeviction") return;
  throw new UserError(
    "queue_evicts",
    `The queue at ${shown} would lose tasks: its maxmemory-policy is ${policy}.`,
    "Set maxmemory-policy noeviction on that server.",
  );
}
