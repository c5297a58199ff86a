// Answers SQL queries in a process, because SQLite does not stop a query that is running.
import { fileURLToPath } from "node:url";
import { withDeadline } from "../../platform/deadline.js";
import { UserError } from "../../platform/errors.js";
import type { JsonObject } from "../../platform/json.js";
import { runProcess } from "../../platform/processes.js";
import { builtFile } from "../../platform/program-files.js";

const TIMEOUT_S = 20;
const MAX_ANSWER_MB = 16;

/** A query, and the rows of each table that it can read. */
export interface QueryOrder {
  readonly tables: Readonly<Record<string, readonly JsonObject[]>>;
  readonly sql: string;
  /** Maximum number of rows in the answer. */
  readonly maxRows: number;
}

export interface QueryAnswer {
  readonly rows: readonly unknown[];
  /** Whether the query has more rows. */
  readonly more: boolean;
}

/**
 * Answers a statement that only reads. It reaches nothing but the given tables.
 * @throws UserError if the statement is invalid, takes too long, or needs too much memory
 */
export async function queryTables(order: QueryOrder, signal: AbortSignal, timeoutS = TIMEOUT_S): Promise<QueryAnswer> {
  const argv = [process.execPath, fileURLToPath(builtFile("results/runs-over-mcp/query-process.js"))];
  const { stdout, tooLong } = await withDeadline(
    signal,
    timeoutS * 1_000,
    () => invalid(`it took more than ${timeoutS} s`),
    (limited) => runProcess({ argv, env: {} }, JSON.stringify(order), MAX_ANSWER_MB * 1e6, limited),
  );
  if (tooLong) throw invalid(`its answer has more than ${MAX_ANSWER_MB} MB`);
  if (stdout === "") throw invalid("its process ended without an answer, for example because it ran out of memory");
  const answer = JSON.parse(stdout) as QueryAnswer | { readonly failure: string };
  if ("failure" in answer) throw invalid(answer.failure);
  return answer;
}

function invalid(reason: string): UserError {
  return new UserError("query_invalid", `Cannot answer the query: ${reason}.`, "Change the SQL.");
}
