import type { ChatTrace } from "../../domain/runs/chat.js";
import { isFailure } from "../../domain/tasks/task-ending.js";
import type { Db } from "../../store/connection/open-store.js";
import { listEvals } from "../../store/evals/evals.js";
import { withEvals } from "../score/score-trace.js";
import { evalsWithoutModels } from "./evals-as-scorers.js";

/**
 * A chat with the scores of the evals in use. Those that see gold are not among them, as a chat has none, nor rubrics,
 * as a model would be paid for every chat.
 */
export async function scoreChat(db: Db, trace: ChatTrace): Promise<ChatTrace> {
  if (isFailure(trace.ending)) return trace;
  const evals = evalsWithoutModels(
    listEvals(db).filter(({ status, definition }) => status === "active" && !definition.reference),
  );
  // The chat has been answered: it is scored also where the caller has left.
  const [outcomes = []] = await evals.run([trace], new AbortController().signal);
  return withEvals(trace, evals.definitions, outcomes);
}
