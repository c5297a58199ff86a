// The types of an opened database and of the mail and runs in it.
import type { BenchmarkResult, ChatTrace, Trace } from "./published-types.js";

/** An open database. */
export interface ArtEDatabase {
  readonly path: string;
  /** Searches a mailbox as an agent's `email_search` does, best hits first. */
  search(inbox: string, query: string, options?: MailSearchOptions): Promise<MailSearchResult>;
  /** Returns an email by its Message-ID. Throws an `ArtEError` if it is unknown. */
  getMail(messageId: string): Mail;
  /** Returns a trace by its id, the start of its id, or RUN/TASK. Throws an `ArtEError` if it is unknown. */
  fetchTrace(traceId: string): Trace | ChatTrace;
  /** Yields the traces of a run by task and epoch, one in memory at a time. */
  traces(run: string): Iterable<Trace>;
  /** Lists the runs, newest first. */
  runs(): ListedRun[];
  /** Returns the results of a run. `run` is an id, the start of one, a name, or "latest". */
  results(run: string): Promise<BenchmarkResult>;
  close(): void;
}

/** All conditions must hold. */
export interface MailSearchOptions {
  /** Maximum number of hits [default: 10]. */
  readonly limit?: number;
  /** Part of the sender's address or name. */
  readonly from?: string;
  /** Part of a recipient's address or name. */
  readonly to?: string;
  /** YYYY-MM-DD, inclusive. */
  readonly after?: string;
  /** YYYY-MM-DD, exclusive. */
  readonly before?: string;
  /** Date of an assumed question, as YYYY-MM-DD. Later mail is invisible. */
  readonly cutoff?: string;
}

export interface MailHit {
  readonly message_id: string;
  readonly subject: string;
  readonly sender: string;
  /** ISO 8601 in UTC, or null if unknown. */
  readonly date: string | null;
  /** Passage with the words of the query. */
  readonly snippet: string;
}

export interface MailSearchResult {
  readonly emails: readonly MailHit[];
  /** Number of all hits. */
  readonly total: number;
}

export interface Mail {
  /** With angle brackets. */
  readonly messageId: string;
  readonly subject: string;
  readonly sender: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  /** ISO 8601 in UTC, or null if unknown. */
  readonly date: string | null;
  readonly body: string;
}

export interface ListedRun {
  readonly id: string;
  readonly name: string | null;
  readonly agentId: string;
  readonly model: string;
  readonly dataset: string;
  readonly split: string;
  readonly status: "running" | "completed" | "interrupted";
  readonly startedAt: string;
  readonly totalTasks: number;
  readonly completedTasks: number;
  readonly failedTasks: number;
}
