import { z } from "zod";
import { EXIT, UserError } from "../../domain/errors.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { QUEUE_FLAGS, queueShape, queueUrlOf } from "../flags/queue-flag.js";

const schema = z.object({ ...queueShape, id: text.optional(), all: z.boolean().default(false) });

export const cleanQueueCommand: Command = {
  positionals: { id: { type: "string", describe: "The run, or the beginning of its id" } },
  flags: {
    ...QUEUE_FLAGS,
    all: { type: "boolean", describe: "Every run that is on the queue" },
  },
  async run(argv, { settings, out }) {
    const { id, all, queue } = readFlags("queue clean", schema, argv);
    if ((id === undefined) !== all) {
      throw new UserError("flags_contradict", "Name one run, or give --all.", "See art-e queue status.");
    }
    const url = queueUrlOf({ queue }, settings);
    const { cleanQueue } = await import("../../app/queue/queue-status.js");
    const removed = await cleanQueue(url, id);
    if (id !== undefined && removed.length === 0) {
      throw new UserError("run_unknown", `No run "${id}" is on the queue.`, "See art-e queue status.");
    }
    out.result({ removed }, () => (removed.length === 0 ? "There was no run." : `Removed: ${removed.join(", ")}`));
    return EXIT.done;
  },
};
