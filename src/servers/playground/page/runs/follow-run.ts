import { getEvents, RefusedRequest } from "../request.js";
import type { RunProgressJson } from "./run-progress-json.js";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 10_000;

/** `ended`: the server ended the events, and sends no more. */
export type Connection = "open" | "lost" | "ended";

interface RunListener {
  onProgress(progress: RunProgressJson): void;
  onConnection(connection: Connection): void;
}

/** Follows a run until the server ends or `signal` aborts. Throws where the server refuses, as for an unknown run. */
export async function followRun(id: string, listener: RunListener, signal: AbortSignal): Promise<void> {
  const path = `/api/runs/${encodeURIComponent(id)}/events`;
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    try {
      for await (const progress of getEvents<RunProgressJson>(path, signal)) {
        waitMs = FIRST_WAIT_MS;
        listener.onConnection("open");
        listener.onProgress(progress);
      }
      listener.onConnection("ended");
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof RefusedRequest) throw error;
      listener.onConnection("lost");
      await pause(waitMs);
      if (signal.aborted) return;
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
