import type { JsonObject } from "../json.js";

/** What came of an oracle. */
export type AppliedOracle =
  | {
      readonly ok: true;
      /** What was put in place, to be shown. */
      readonly applied: JsonObject;
    }
  | { readonly ok: false; readonly reason: string };

/** Port: what an oracle file says that an agent leaves behind for a task. */
export interface TaskOracle {
  /** Puts it in place. Throws where `signal` aborts. */
  apply(signal: AbortSignal): Promise<AppliedOracle>;
}
