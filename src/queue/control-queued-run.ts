// Sends a request to steer a run to its coordinator over the queue, and waits for the reply.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { ControlRequest } from "../runs/control-protocol.js";
import { acceptedReply } from "../runs/run-control.js";
import { readControlReply, sendControl, withdrawControl } from "./protocol/shared-control.js";
import { listPublishedRuns } from "./protocol/shared-state.js";
import { withQueue } from "./status.js";

/** Milliseconds between two checks for a reply, and the maximum wait. */
const LOOK_EVERY_MS = 50;
const REPLY_MS = 10_000;

/**
 * Sends a request to the coordinator of a run over a queue, which can be on another machine.
 * @param name run id, or the start of one
 * @throws UserError if the run is not on the queue, or its coordinator does not reply
 */
export async function controlQueuedRun(url: string, name: string, request: ControlRequest) {
  return withQueue(url, async (redis) => {
    const [runId, second] = [...(await listPublishedRuns(redis)).keys()].filter((id) => id.startsWith(name));
    if (runId === undefined || second !== undefined) {
      const why =
        runId === undefined ? `No run "${name}" is on the queue.` : `More than one run starts with "${name}".`;
      throw new UserError("run_unknown", why, `List the runs: ${commandLine`art-e queue status`}.`);
    }
    const id = randomUUID();
    await sendControl(redis, runId, id, request);
    const until = performance.now() + REPLY_MS;
    while (performance.now() < until) {
      const reply = await readControlReply(redis, runId, id);
      if (reply !== null) return acceptedReply(reply);
      await delay(LOOK_EVERY_MS);
    }
    await withdrawControl(redis, runId, id, request);
    throw new UserError(
      "run_not_running",
      `Cannot ${request.command} run ${runId}: its coordinator does not reply.`,
      `Continue it: ${commandLine`art-e run --resume ${runId}`}`,
      1,
    );
  });
}
