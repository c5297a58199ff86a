import type { CallProgress, CallWait } from "../../domain/models/model.js";

/** Shorter waits are what measuring takes. */
const SHORTEST_MS = 1;

/** Adds up what a call waits for, from what is heard of it. Its last attempt is not in it: it is the call itself. */
export class CallWaits {
  private readonly waits: CallWait[] = [];
  private since: number;

  /** `now`: in ms. */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.since = now();
  }

  add(progress: CallProgress): void {
    const durationMs = this.now() - this.since;
    if (progress.type === "calling" && typeof progress.waitedFor === "string") {
      this.push({ kind: progress.waitedFor === "concurrency" ? "slot" : "throttled", durationMs });
    } else if (progress.type === "retry") {
      this.push({ kind: "failed_attempt", durationMs });
      this.push({ kind: "pause", durationMs: progress.retry.waitedMs });
      this.since += durationMs + progress.retry.waitedMs;
      return;
    }
    this.since += durationMs;
  }

  /** As the field of a reply: none where there was no waiting. */
  toField(): { waits?: CallWait[] } {
    return this.waits.length === 0 ? {} : { waits: this.waits };
  }

  private push(wait: CallWait): void {
    if (wait.durationMs >= SHORTEST_MS) this.waits.push(wait);
  }
}
