import { UserError } from "../../domain/errors.js";
import type { Flags } from "../cli/command.js";
import { text } from "../cli/read-flags.js";
import type { Settings } from "../cli/settings.js";

export const QUEUE_FLAGS: Flags = {
  queue: {
    type: "string",
    requiresArg: true,
    describe: "The Redis server with the queue: redis://HOST:PORT; required [ART_E_QUEUE_URL]",
  },
};

export const queueShape = { queue: text.optional() };

export function queueUrlOf({ queue }: { readonly queue?: string | undefined }, { env }: Settings): string {
  const url = queue ?? env.ART_E_QUEUE_URL;
  if (url) return url;
  throw new UserError(
    "flag_missing",
    "--queue is missing.",
    "Name the Redis server: --queue redis://HOST:PORT, or ART_E_QUEUE_URL, which keeps a password out of the list of processes.",
  );
}
