// The flag for the queue's URL.
import { UserError } from "../../platform/errors.js";
import { url } from "../../platform/flag-values.js";
import type { Settings } from "../settings.js";

export const queueShape = {
  queue: url
    .optional()
    .meta({ description: "Redis server with the queue, as redis://HOST:PORT (required) [ART_E_QUEUE_URL]" }),
};

/** Returns the URL of the queue from the flag, otherwise from ART_E_QUEUE_URL. Throws a UserError if neither is set. */
export function queueUrlOf({ queue }: { readonly queue?: string | undefined }, { env }: Settings): string {
  const url = queue ?? env.ART_E_QUEUE_URL;
  if (url) return url;
  throw new UserError(
    "flag_missing",
    "--queue is required.",
    "Pass --queue redis://HOST:PORT, or set ART_E_QUEUE_URL, which keeps a password out of the process list.",
  );
}
