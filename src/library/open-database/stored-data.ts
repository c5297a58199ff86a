import type { AppContext } from "../../platform/app-context.js";
import { collectResults, computeRunTotals } from "../../runs/results-file.js";
import { openStore } from "../../store/open-store.js";
import { getMail, searchIn } from "../../tools/search-mailbox.js";
import { getRun, listRuns } from "../../traces/runs-store.js";
import { getTrace, iterateTraces } from "../../traces/traces-store.js";
import type { ArtEDatabase, MailSearchResult } from "../database.js";
import { mailSearchSchema } from "../options/mail-options.js";
import { parseOptions } from "../options/parse-options.js";
import type { BenchmarkResult, ChatTrace, Trace } from "../published-types.js";

export function openArtEDatabase({ settings: { db: path } }: AppContext): ArtEDatabase {
  const db = openStore(path, { mustExist: true });
  return {
    path,
    async search(inbox, query, options = {}) {
      const { parsed } = parseOptions(options, mailSearchSchema);
      const search = { ...parsed, inbox_address: inbox, words: [query], order: "best" as const };
      return (await searchIn(db, search)) as unknown as MailSearchResult;
    },
    getMail(messageId) {
      const { mailId: _, ...mail } = getMail(db, messageId);
      return mail;
    },
    fetchTrace: (traceId) => getTrace(db, traceId) as Trace | ChatTrace,
    traces: (run) => iterateTraces(db, { runId: getRun(db, run).id }) as Iterable<Trace>,
    runs: () =>
      listRuns(db).map(({ id, name, agentId, model, dataset, split, status, startedAt, ...run }) => {
        const { totalTasks, completedTasks, failedTasks } = run;
        return { id, name, agentId, model, dataset, split, status, startedAt, totalTasks, completedTasks, failedTasks };
      }),
    async results(run) {
      const totals = await computeRunTotals(db, getRun(db, run));
      return collectResults(db, totals) as BenchmarkResult;
    },
    close: () => void db.close(),
  };
}
