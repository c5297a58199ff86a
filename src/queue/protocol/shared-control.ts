// Requests to steer a queued run, and their replies, in Redis.
import type { Redis } from "ioredis";
import { z } from "zod";
import { parseJsonOrNull } from "../../platform/json.js";
import {
  type AnswerControl,
  type ControlReply,
  type ControlRequest,
  controlReplySchema,
  replyToControl,
} from "../../runs/control-protocol.js";
import { PREFIX, queueName } from "../connection/redis.js";

/** Seconds after which an unanswered request or an unread reply is removed. */
const EXPIRES_S = 30;

const messageSchema = z.strictObject({ id: z.uuid(), request: z.unknown() });

function requestsKey(runId: string): string {
  return `${PREFIX}:${queueName(runId)}:control`;
}

function replyKey(runId: string, id: string): string {
  return `${requestsKey(runId)}:${id}`;
}

export async function sendControl(redis: Redis, runId: string, id: string, request: ControlRequest): Promise<void> {
  await redis.rpush(requestsKey(runId), messageText(id, request));
  await redis.expire(requestsKey(runId), EXPIRES_S);
}

/** Returns the coordinator's reply, or null if there is none yet. */
export async function readControlReply(redis: Redis, runId: string, id: string): Promise<ControlReply | null> {
  const text = await redis.get(replyKey(runId, id));
  return controlReplySchema.safeParse(text === null ? null : parseJsonOrNull(text)).data ?? null;
}

/**
 * Removes a request that nobody answers, so that a later coordinator does not carry it out. Requests from other users
 * stay, because they might still be waiting for a reply.
 */
export async function withdrawControl(redis: Redis, runId: string, id: string, request: ControlRequest): Promise<void> {
  await redis.lrem(requestsKey(runId), 0, messageText(id, request));
}

/** Answers the requests that have arrived. Ignores messages without an id, because their sender is unknown. */
export async function answerControls(redis: Redis, runId: string, answer: AnswerControl): Promise<void> {
  for (;;) {
    const text = await redis.lpop(requestsKey(runId));
    if (text === null) return;
    const message = messageSchema.safeParse(parseJsonOrNull(text));
    if (!message.success) continue;
    const { id, request } = message.data;
    await redis.set(replyKey(runId, id), JSON.stringify(await replyToControl(request, answer)), "EX", EXPIRES_S);
  }
}

function messageText(id: string, request: ControlRequest): string {
  return JSON.stringify({ id, request });
}
