import { getTrace } from "../../store/runs/traces.js";
import type { AppSettings } from "../use-case-context.js";
import { withStore } from "../with-store.js";

/** A trace by its id, or as RUN/TASK. */
export function readTrace(name: string, settings: AppSettings): Promise<ReturnType<typeof getTrace>> {
  return withStore(settings, (db) => getTrace(db, name));
}
