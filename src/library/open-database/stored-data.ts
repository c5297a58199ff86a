// Reads mail, runs and traces from an opened database.
import type { AppContext } from "../../platform/app-context.js";
import { UserError } from "../../platform/errors.js";
import { collectResults, computeRunTotals } from "../../results/results-file.js";
import { type Db, openStore } from "../../store/open-store.js";
import { getMail, searchIn } from "../../tools/search-mailbox.js";
import { listRuns } from "../../traces/run-list.js";
import { getRun } from "../../traces/runs-store.js";
import { getTrace, iterateTraces } from "../../traces/traces-store.js";
import type { ArtEDatabase, MailSearchResult } from "../database.js";
import { textArgument } from "../options/context.js";
import { mailSearchSchema } from "../options/mail-options.js";
import { parseOptions } from "../options/parse-options.js";
import type { BenchmarkResult, ChatTrace, Trace } from "../published-types.js";

export function openArtEDatabase({ settings: { db: path } }: AppContext): ArtEDatabase {
  const opened = openStore(path, { mustExist: true });
  const openDb = () => {
    if (opened.open) return opened;
    throw new UserError("db_closed", `Cannot read ${path}: the database is closed.`, "Call openDatabase() again.");
  };
  const runOf = (db: Db, run: string) => getRun(db, textArgument("run", run));
  return {
    path,
    async search(inbox, query, options = {}) {
      const { parsed } = parseOptions(options, mailSearchSchema);
      const words = [textArgument("query", query)];
      const search = { ...parsed, inbox_address: textArgument("inbox", inbox), words, order: "best" as const };
      return (await searchIn(openDb(), search)) as unknown as MailSearchResult;
    },
    getMail(messageId) {
      const { mailId: _, ...mail } = getMail(openDb(), textArgument("messageId", messageId));
      return mail;
    },
    fetchTrace: (traceId) => getTrace(openDb(), textArgument("traceId", traceId)) as Trace | ChatTrace,
    traces(run) {
      const db = openDb();
      return iterateTraces(db, { runId: runOf(db, run).id }) as Iterable<Trace>;
    },
    runs: () =>
      listRuns(openDb()).map(({ id, name, agentId, model, dataset, split, status, startedAt, ...run }) => {
        const { totalTasks, completedTasks, failedTasks } = run;
        return { id, name, agentId, model, dataset, split, status, startedAt, totalTasks, completedTasks, failedTasks };
      }),
    async results(run) {
      const db = openDb();
      const totals = await computeRunTotals(db, runOf(db, run));
      return collectResults(db, totals) as BenchmarkResult;
    },
    close: () => void opened.close(),
  };
}
