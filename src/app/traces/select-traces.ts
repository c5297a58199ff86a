import type { Db } from "../../store/connection/open-store.js";
import { getRun, type RunRow } from "../../store/runs/runs.js";
import { selectChatTraceIds, selectTraceIds } from "../../store/runs/trace-selection.js";
import { chatFilter, filterOf, type TraceSelection } from "./trace-filter.js";

/** A run by its name, or chats: those of a session, or all (null). */
export type ExportSource = { readonly run: string } | { readonly session: string | null };

export interface SelectedTraces {
  /** Null: of chats. */
  readonly run: RunRow | null;
  readonly ids: readonly string[];
}

export function selectTraces(db: Db, source: ExportSource, selection: TraceSelection): SelectedTraces {
  if ("session" in source) return { run: null, ids: selectChatTraceIds(db, chatFilter(selection, source.session)) };
  const run = getRun(db, source.run);
  return { run, ids: selectTraceIds(db, filterOf(db, run, selection)) };
}
