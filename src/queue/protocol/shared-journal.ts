// Reply journals of tasks on the queue. They are in Redis until the coordinator has saved the task, so that a worker
// can continue the task of a worker that died.
import type { Redis } from "ioredis";
import { z } from "zod";
import { type JournalEntry, journalEntrySchema } from "../../models/reply-journal.js";
import type { TaskEpoch } from "../../tasks/epoch-key.js";
import { compressJson, PREFIX, queueName, readCompressed, StrangeMessage } from "../connection/redis.js";

/** Set of the tasks with a journal, by their queue ids. */
function tasksKey(runId: string): string {
  return `${PREFIX}:${queueName(runId)}:journals`;
}

function journalKey(runId: string, id: string): string {
  return `${PREFIX}:${queueName(runId)}:journal:${id}`;
}

/** Adds replies to a task's journal. */
export async function addSharedReplies(
  redis: Redis,
  runId: string,
  id: string,
  entries: readonly JournalEntry[],
): Promise<void> {
  const texts = await Promise.all(entries.map((entry) => compressJson("A reply", entry)));
  if (texts.length === 0) return;
  // Not in a transaction, whose commands could not be resent if Redis refuses them.
  await Promise.all([redis.rpush(journalKey(runId, id), ...texts), redis.sadd(tasksKey(runId), id)]);
}

/** Returns a task's paid replies, oldest first, without unreadable ones. */
export async function readSharedJournal(redis: Redis, runId: string, id: string): Promise<JournalEntry[]> {
  const texts = await redis.lrange(journalKey(runId, id), 0, -1);
  const entries = await Promise.all(
    texts.map((text) => readCompressed("A reply", text, journalEntrySchema).catch(skip)),
  );
  return entries.filter((entry) => entry !== null);
}

function skip(error: unknown): null {
  if (error instanceof StrangeMessage) return null;
  throw error;
}

export async function removeSharedJournal(redis: Redis, runId: string, id: string): Promise<void> {
  await Promise.all([redis.del(journalKey(runId, id)), redis.srem(tasksKey(runId), id)]);
}

/** Passes the journals of a run to `save` and removes them from Redis. */
export async function takeSharedJournals(
  redis: Redis,
  runId: string,
  save: (task: TaskEpoch, entries: readonly JournalEntry[]) => Promise<void>,
): Promise<void> {
  for (const id of await redis.smembers(tasksKey(runId))) {
    const [, epoch, taskId] = /^e(\d+)-(.*)$/.exec(id) ?? [];
    if (epoch !== undefined && taskId !== undefined) {
      await save(
        { taskId: decodeURIComponent(taskId), epoch: Number(epoch) },
        await readSharedJournal(redis, runId, id),
      );
    }
    await removeSharedJournal(redis, runId, id);
  }
}

/** Stored replies in a task's message. */
export const storedRepliesSchema = z.array(journalEntrySchema);
