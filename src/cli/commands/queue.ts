// The commands `queue ...`: a queue's runs and workers.
import { z } from "zod";
import { commandLine } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { text, toggle } from "../../platform/flag-values.js";
import type { QueueStatus } from "../../queue/status.js";
import { count, table } from "../../text/format.js";
import { contradiction, defineCommand } from "../flags/define-command.js";
import { queueShape, queueUrlOf } from "../flags/queue-flag.js";

export const queueStatusCommand = defineCommand(z.object(queueShape), async (flags, { settings, out }) => {
  const url = queueUrlOf(flags, settings);
  const { readQueueStatus } = await import("../../queue/status.js");
  const status = await readQueueStatus(url);
  out.result(status, () => statusText(status));
});

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
      ? ["No runs."]
      : [table(["run", "agent", "waiting", "running", "to save", "workers"], runRows)]),
    workers.length === 0 ? "No workers." : table(["worker", "version", "running", "answered", "runs"], workerRows),
  ].join("\n");
}

export const cleanQueueCommand = defineCommand(
  z.object({
    ...queueShape,
    run: text.optional().meta({ description: "Run id, or the start of an id" }),
    all: toggle.meta({ description: "All runs on the queue" }),
  }),
  async ({ run: id, all, queue }, { settings, out }) => {
    if ((id === undefined) !== all) {
      throw contradiction(
        "queue clean: RUN or --all is required.",
        `List the runs: ${commandLine`art-e queue status`}.`,
      );
    }
    const url = queueUrlOf({ queue }, settings);
    const { cleanQueue } = await import("../../queue/status.js");
    const removed = await cleanQueue(url, id);
    if (id !== undefined && removed.length === 0) {
      throw new UserError(
        "run_unknown",
        `No run "${id}" is on the queue.`,
        `List the runs: ${commandLine`art-e queue status`}.`,
      );
    }
    out.result({ removed }, () =>
      removed.length === 0 ? "There were no runs to remove." : `Removed: ${removed.join(", ")}`,
    );
  },
);
