import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import type { Redis } from "ioredis";
import type { z } from "zod";
import { UserError } from "../platform/errors.js";
import { firstIssue, parseJsonOrNull } from "../platform/json.js";
import { redact } from "../platform/secrets.js";
import { type ConnectionListener, messageOf, type QueueAddress, QueueConnection } from "./queue-connection.js";

/** Names of what this program has in Redis. BullMQ's own keys begin alike, with its names behind. */

export const PREFIX = "art-e";

/** The runs on the queue, by id, each with the attempt at it. */
export const RUNS = `${PREFIX}:runs`;

/** In braces, so that all keys of a run lie on one node of a cluster. */
export function queueName(runId: string): string {
  return `{${runId}}`;
}

/** What model calls of a run are counted under. */
export function limitKey(runId: string, what: "requests" | "tokens"): string {
  return `${PREFIX}:${queueName(runId)}:${what}`;
}

/** Of an account whose server has refused a call. */
export function pauseKey(account: string): string {
  return `${PREFIX}:pause:${account}`;
}

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Bytes of one compressed message. A trace of 200 turns with pages of mail takes a hundredth of it. */
const MAX_COMPRESSED_BYTES = 16 * 1024 * 1024;

/** A small message may be made to unfold into any size. */
const MAX_INFLATED_BYTES = 128 * 1024 * 1024;

export class MessageTooLarge extends Error {
  override readonly name = "MessageTooLarge";
}

/** A message that cannot be read, or is not what it should be. */
export class StrangeMessage extends Error {
  override readonly name = "StrangeMessage";
}

/** JSON as compressed text. Compression runs on a thread. */
export async function compressJson(what: string, value: unknown): Promise<string> {
  const bytes = await deflate(JSON.stringify(value), { level: 6 });
  if (bytes.length <= MAX_COMPRESSED_BYTES) return bytes.toString("base64");
  const mb = (size: number) => `${(size / 1024 / 1024).toFixed(1)} MB`;
  throw new MessageTooLarge(
    `${what} has ${mb(bytes.length)} compressed; the queue takes ${mb(MAX_COMPRESSED_BYTES)} at most`,
  );
}

export async function readCompressed<T extends z.ZodType>(what: string, text: string, schema: T): Promise<z.output<T>> {
  let json: string;
  try {
    json = (await inflate(Buffer.from(text, "base64"), { maxOutputLength: MAX_INFLATED_BYTES })).toString("utf8");
  } catch (error) {
    throw new StrangeMessage(`${what} cannot be read: ${(error as Error).message}`);
  }
  return readMessage(what, parseJsonOrNull(json), schema);
}

export function readMessage<T extends z.ZodType>(what: string, value: unknown, schema: T): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new StrangeMessage(`${what} is not what art-e writes: ${firstIssue(result.error, "it")}`);
}

/** Tells the user when the queue is lost, and when it is back. */
export function lostConnectionNotes({ shown }: QueueAddress, note: (text: string) => void): ConnectionListener {
  return {
    lost: (why) => note(`art-e: the queue at ${shown} is gone (${why}): waiting until it is back.`),
    refused: (why) => note(`art-e: the queue at ${shown} refuses commands (${why}): waiting until it accepts them.`),
    restored: () => note(`art-e: the queue at ${shown} is back.`),
  };
}

/**
 * Connects, or throws a UserError or, if `signal` aborts first, its reason. From then on commands wait while the
 * connection is lost or Redis refuses them; without a listener, a refused command fails.
 */
export async function connectRedis(
  address: QueueAddress,
  listener: ConnectionListener | null,
  signal?: AbortSignal,
): Promise<QueueConnection> {
  const redis = new QueueConnection(address, listener);
  const abandon = () => redis.abandon();
  signal?.addEventListener("abort", abandon, { once: true });
  try {
    await redis.connect();
    await checkMemoryPolicy(redis, address);
  } catch (error) {
    redis.abandon();
    signal?.throwIfAborted();
    if (error instanceof UserError) throw error;
    throw unreachable(address, redis.whyAway || redact(messageOf(error as Error), address.secrets));
  } finally {
    signal?.removeEventListener("abort", abandon);
  }
  return redis;
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

/** Reads the address of a Redis or Valkey server. The error does not repeat what was given: it may hold a password. */
export function parseQueueUrl(text: string): QueueAddress {
  const url = URL.parse(text);
  const isRedis = url !== null && (url.protocol === "redis:" || url.protocol === "rediss:");
  if (!isRedis || url.hostname === "" || !/^(\/\d*)?$/.test(url.pathname) || url.search !== "" || url.hash !== "") {
    throw new UserError(
      "queue_url",
      "--queue (or ART_E_QUEUE_URL): expected the address of a Redis server.",
      "Give it as redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS.",
    );
  }
  const password = decode(url.password);
  return {
    url: text,
    shown: `${url.protocol}//${url.host}${url.pathname === "/" ? "" : url.pathname}`,
    secrets: [password, url.password].filter((secret) => secret !== ""),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
