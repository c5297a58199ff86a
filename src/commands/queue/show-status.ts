import { z } from "zod";
import type { QueueStatus } from "../../app/queue/queue-status.js";
import { EXIT } from "../../domain/errors.js";
import { count } from "../../reports/text/format-number.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";
import { QUEUE_FLAGS, queueShape, queueUrlOf } from "../flags/queue-flag.js";

export const queueStatusCommand: Command = {
  flags: QUEUE_FLAGS,
  async run(argv, { settings, out }) {
    const url = queueUrlOf(readFlags("queue status", z.object(queueShape), argv), settings);
    const { readQueueStatus } = await import("../../app/queue/queue-status.js");
    const status = await readQueueStatus(url);
    out.result(status, () => statusText(status));
    return EXIT.done;
  },
};

function statusText({ queue, runs, workers }: QueueStatus): string {
  const runRows = runs.map(({ runId, agentId, model, waiting, active, finished, workers: names, fault }) => [
    runId,
    fault ?? `${agentId} (${model})`,
    ...[waiting, active, finished].map(count),
    names.join(", ") || "none",
  ]);
  const workerRows = workers.map(({ name, version, runs: own, underWay, answered }) => [
    name,
    version,
    ...[underWay, answered].map(count),
    own.join(", ") || "none",
  ]);
  return [
    `The queue at ${queue}:`,
    ...(runs.length === 0
      ? ["No run is there."]
      : [table(["run", "agent", "waiting", "under way", "to take in", "workers"], runRows)]),
    workers.length === 0
      ? "No worker is there."
      : table(["worker", "version", "under way", "answered", "runs"], workerRows),
  ].join("\n");
}
