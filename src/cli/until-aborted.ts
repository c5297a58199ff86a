import type { CommandContext } from "./command.js";

/** Resolves when the user asks to stop. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A line of JSON on stderr about an error of a server that is a bug of this program. */
export function reportFault(fault: unknown, requestId: string, { out }: CommandContext): void {
  const stack = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
  out.note(JSON.stringify({ time: new Date().toISOString(), level: "error", request_id: requestId, fault: stack }));
}
