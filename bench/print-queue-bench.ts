import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { table } from "../src/text/format.js";
import { benchQueue, type QueueBench } from "./queue.js";

/** Prints the rates of runs over a queue, and the resources of each process. */
export async function printQueueBench(
  tasks: number,
  { workers, keep, json }: { workers: string; keep?: string | undefined; json: boolean },
): Promise<void> {
  const folder = keep ?? mkdtempSync(join(tmpdir(), "art-e-bench-queue-"));
  mkdirSync(folder, { recursive: true });
  try {
    const counts = workers.split(",").map(Number);
    const lines = await benchQueue(folder, { tasks, workers: counts, slots: 64, latencyMs: 200 });
    console.log(json ? JSON.stringify(lines, null, 2) : [rates(lines), parts(lines)].join("\n\n"));
  } finally {
    if (keep === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function rates(lines: readonly QueueBench[]): string {
  return table(
    [
      "64 slots per worker, 200 ms per call",
      "one process, tasks/s",
      "over the queue",
      "share",
      "coordinator MB",
      "Redis MB",
    ],
    lines.map(({ workers, tasks, oneProcess, overQueue, memory }) => [
      `${workers} workers, ${tasks} tasks`,
      oneProcess.toFixed(1),
      overQueue.toFixed(1),
      `${Math.round((overQueue / oneProcess) * 100)}%`,
      ...[memory.coordinator, memory.redis].map(({ early, late }) => `${early.toFixed(0)}, ${late.toFixed(0)}`),
    ]),
  );
}

function parts(lines: readonly QueueBench[]): string {
  return table(
    ["a task", "one process, ms", "coordinator", "workers", "Redis", "commands", "KB to Redis", "KB from it"],
    lines.map(({ workers, processor, redis }) => [
      `${workers} workers`,
      ...[processor.oneProcess, processor.coordinator, processor.workers, processor.redis].map((ms) => ms.toFixed(1)),
      ...[redis.commands, redis.kilobytesIn, redis.kilobytesOut].map((n) => n.toFixed(1)),
    ]),
  );
}
