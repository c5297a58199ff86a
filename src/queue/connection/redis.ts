// Opens the connection to Redis, names art-e's keys there, and encodes messages as compressed JSON.
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import type { Redis } from "ioredis";
import type { z } from "zod";
import { UserError } from "../../platform/errors.js";
import { firstIssue, parseJsonOrNull } from "../../platform/json.js";
import { redact } from "../../platform/secrets.js";
import { type ConnectionListener, messageOf, type QueueAddress, QueueConnection } from "./queue-connection.js";

/** Names of art-e's keys in Redis. BullMQ's own keys start with the same prefix and run id. */

export const PREFIX = "art-e";

/** Hash of the runs on the queue: run id to the id of the current attempt. */
export const RUNS = `${PREFIX}:runs`;

/**
 * The braces put all keys of a run on one node of a Redis cluster
 * (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
 */
export function queueName(runId: string): string {
  return `{${runId}}`;
}

/** Returns the key that counts the requests or tokens of a run. */
export function limitKey(runId: string, what: "requests" | "tokens"): string {
  return `${PREFIX}:${queueName(runId)}:${what}`;
}

/** Returns the key that pauses calls to an account whose server has refused a call. */
export function pauseKey(account: string): string {
  return `${PREFIX}:pause:${account}`;
}

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Maximum size of a compressed message. A trace of 200 turns with pages of mail takes a hundredth of it. */
const MAX_COMPRESSED_BYTES = 16 * 1024 * 1024;

/** Maximum uncompressed size: a small hostile message could otherwise inflate to any size. */
const MAX_INFLATED_BYTES = 128 * 1024 * 1024;

export class MessageTooLarge extends Error {
  override readonly name = "MessageTooLarge";
}

/** A message that cannot be read or does not match its schema. */
export class StrangeMessage extends Error {
  override readonly name = "StrangeMessage";
}

/** Returns JSON as compressed base64 text. Compression runs on another thread. */
export async function compressJson(what: string, value: unknown): Promise<string> {
  const bytes = await deflate(JSON.stringify(value), { level: 6 });
  if (bytes.length <= MAX_COMPRESSED_BYTES) return bytes.toString("base64");
  const mb = (size: number) => `${(size / 1024 / 1024).toFixed(1)} MB`;
  throw new MessageTooLarge(
    `${what} has ${mb(bytes.length)} compressed, but the queue accepts at most ${mb(MAX_COMPRESSED_BYTES)}`,
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
  throw new StrangeMessage(`${what} is invalid: ${firstIssue(result.error, "it")}`);
}

/** Notes for the user when the queue is lost and when it is back. */
export function lostConnectionNotes({ displayUrl }: QueueAddress, note: (text: string) => void): ConnectionListener {
  return {
    lost: (why) => note(`art-e: the queue at ${displayUrl} is unreachable (${why}). Waiting until it is back.`),
    refused: (why) =>
      note(`art-e: the queue at ${displayUrl} refuses commands (${why}). Waiting until it accepts them.`),
    restored: () => note(`art-e: the queue at ${displayUrl} is back.`),
  };
}

/**
 * Connects to Redis. Afterwards commands wait while the connection is lost or Redis refuses them. Without a listener, a
 * refused command fails.
 * @throws UserError if the queue is unreachable, or the signal's reason if it aborts first
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

function unreachable({ displayUrl }: QueueAddress, why: string): UserError {
  return new UserError(
    "queue_unreachable",
    `Cannot connect to the queue at ${displayUrl}: ${why.replace(/\.$/, "")}.`,
    "Check that Redis is running there, and check the URL, user and password (--queue, ART_E_QUEUE_URL).",
    1,
  );
}

/** Rejects a server that evicts keys when its memory is full: it would lose tasks and results. */
async function checkMemoryPolicy(redis: Redis, { displayUrl }: QueueAddress): Promise<void> {
  const info = await redis.info("memory");
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
  const policy = field("maxmemory_policy");
  if ((field("maxmemory") ?? "0") === "0" || policy === undefined || policy === "noeviction") return;
  throw new UserError(
    "queue_evicts",
    `Cannot use the queue at ${displayUrl}: its maxmemory-policy ${policy} would lose tasks.`,
    "Set maxmemory-policy to noeviction on that server.",
  );
}

/** Parses the URL of a Redis or Valkey server. The error does not repeat the URL, which can contain a password. */
export function parseQueueUrl(text: string): QueueAddress {
  const url = URL.parse(text);
  const isRedis = url !== null && (url.protocol === "redis:" || url.protocol === "rediss:");
  if (!isRedis || url.hostname === "" || !/^(\/\d*)?$/.test(url.pathname) || url.search !== "" || url.hash !== "") {
    throw new UserError(
      "queue_url_invalid",
      "--queue (or ART_E_QUEUE_URL): expected the URL of a Redis server.",
      "Pass redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS.",
    );
  }
  const password = decode(url.password);
  return {
    url: text,
    displayUrl: `${url.protocol}//${url.host}${url.pathname === "/" ? "" : url.pathname}`,
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
