import type { ChatTrace } from "../../domain/runs/chat.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import { runEvals } from "../../evalgen/run-eval.js";
import type { Db } from "../../store/connection/open-store.js";
import { listEvals } from "../../store/evals/evals.js";
import { withEvals } from "../score/score-trace.js";

/** A chat with the scores of the evals in use. Those that see gold are not among them: a chat has none. */
export function scoreChat(db: Db, trace: ChatTrace): ChatTrace {
  if (isFailure(trace.ending)) return trace;
  const evals = listEvals(db)
    .filter(({ status, definition }) => status === "active" && !definition.reference)
    .map(({ definition }) => definition);
  return withEvals(trace, evals, runEvals(evals, trace));
}
