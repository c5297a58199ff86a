import { FileWatch } from "../../store/connection/file-watch.js";
import { deferCheckpoints, limitPageCache, openStore } from "../../store/connection/open-store.js";
import { SearchPool } from "../../tools/search-pool/search-pool.js";
import { refuseFlagsQueueIgnores } from "../queue/check-queue-run.js";
import type { AppContext } from "../use-case-context.js";
import type { OpenDatabase, OpenMonitor, RunOutcome } from "./execute-run.js";
import { agentTargetOf, usesMailHere } from "./plan/choose-agent-target.js";
import type { RunEstimate } from "./plan/estimate-run.js";
import type { RunRequest } from "./plan/run-options.js";

/** Runs an agent over the questions; see `execute`. */
export function runBenchmark(request: RunRequest, context: AppContext, monitor: OpenMonitor): Promise<RunOutcome> {
  if (request.options.queue !== undefined) refuseFlagsQueueIgnores(request);
  return withDatabase(request, context, async (opened) => {
    const { execute } = await import("./execute-run.js");
    return execute(opened, request, context, monitor);
  });
}

/** What a run would take; see `estimate`. */
export function estimateBenchmark(request: RunRequest, context: AppContext): Promise<RunEstimate> {
  return withDatabase(request, context, async (opened) => {
    const { estimate } = await import("./execute-run.js");
    return estimate(opened, request, context);
  });
}

async function withDatabase<T>(
  request: RunRequest,
  context: AppContext,
  use: (opened: OpenDatabase) => Promise<T>,
): Promise<T> {
  const path = context.settings.db;
  const readsMail = needsMail(request, context);
  const db = openStore(path, { mustExist: readsMail });
  const watch = new FileWatch(path);
  limitPageCache(db);
  deferCheckpoints(db);
  // The search threads start while the rest of the program is loaded and the run is created.
  const searchThreads = readsMail && request.callsModel ? new SearchPool(path) : undefined;
  try {
    return await use({ db, searchThreads, watch });
  } finally {
    await searchThreads?.close();
    db.close();
  }
}

/** An external agent with mail of its own needs none here: a database for the results is created. */
function needsMail({ options }: RunRequest, { settings }: AppContext): boolean {
  if (options.resume !== undefined || options.repeat !== undefined) return true;
  if (options.suite !== undefined) return false;
  return usesMailHere(agentTargetOf(options, settings.env));
}
