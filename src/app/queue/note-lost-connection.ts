import type { QueueAddress } from "../../queue/queue-url.js";
import type { ConnectionListener } from "../../queue/redis-connection.js";

/** Tells the user when the queue is lost, and when it is back. */
export function lostConnectionNotes({ shown }: QueueAddress, note: (text: string) => void): ConnectionListener {
  return {
    lost: (why) => note(`art-e: the queue at ${shown} is gone (${why}): waiting until it is back.`),
    restored: () => note(`art-e: the queue at ${shown} is back.`),
  };
}
