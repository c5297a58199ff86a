/** Where a rule of test/house.test.ts does not hold yet, or not for a reason. An entry that is no longer needed goes. */

export const CROWDED_FOLDERS: ReadonlyMap<string, string> = new Map([
  ["test/commands", "A file per behaviour of the built program, which its name tells; helpers are in art-e.ts."],
  [
    "src/reports/page",
    "The modules of one page, which the compiler joins; some move to modules shared with the playground.",
  ],
  ["src/app/run", "Planning is to become a folder of its own."],
  ["src/sandbox", "Workspace and Python runners are to become folders."],
]);

/** Longer than 120 lines: to be shortened. */
export const LONG_COMMANDS: ReadonlySet<string> = new Set([
  "src/commands/compare.ts",
  "src/commands/doctor.ts",
  "src/commands/export-traces.ts",
  "src/commands/flags/judge-flags.ts",
  "src/commands/flags/question-flags.ts",
  "src/commands/import/import.ts",
  "src/commands/mcp.ts",
  "src/commands/report/report.ts",
  "src/commands/run/run-flags.ts",
  "src/commands/search.ts",
  "src/commands/serve.ts",
  "src/commands/stats.ts",
]);

/** Files with wide comments, to be wrapped: their names by folder. */
const WIDE_COMMENTS: Readonly<Record<string, string>> = {
  "src/agents/backends": "agent-retry endpoint-agent playground-agent playground-reader subprocess-agent",
  "src/app/chat": "answer-chat served-models",
  "src/app/gates": "gate-options",
  "src/app/import": "import-mail",
  "src/app/mailbox": "offer-mailbox",
  "src/app/questions": "load-dataset",
  "src/app/results": "trace-placement",
  "src/app/run":
    "answer-question create-run execute-run guard-database open-run plan-repeat run-tasks save-lost-traces server-watch task-pool",
  "src/app/score": "choose-scorers judge-settings score-run score-stored-run",
  "src/app/settings": "endpoints env-file",
  "src/commands/cli": "output",
  "src/corpus": "batching detect-format open-corpus",
  "src/corpus/mime": "addresses attachments decode-body mail-date mail-text mime-thread split-message",
  "src/corpus/readers": "csv-file csv-records maildir mbox-messages parquet parsed-csv tar-bytes",
  "src/domain": "json-depth redact trim-end",
  "src/domain/agents": "agent-backend tool",
  "src/domain/models": "model",
  "src/domain/runs": "slice task-times",
  "src/domain/scores": "bands calibration estimate score task-outcome",
  "src/domain/tasks": "abstention",
  "src/evaluation": "comparable-run compare-runs gates kappa",
  "src/evaluation/aggregate": "all-scores",
  "src/ingest": "art-filter",
  "src/mcp": "connections http-listener server-tools supervised-stdio",
  "src/models":
    "answering-model default-models makers model-name price-supplement prices request-parameters resolve-model successors",
  "src/models/http": "deadline http-client post-json sdk-fetch sse-client",
  "src/models/middleware": "rate-limiter reply-cache retry verdict-cache",
  "src/models/providers": "anthropic openai-server",
  "src/platform":
    "atomic-file byte-budget heap-growth parquet-pages strip-controls thread-priority time-slice worker-rpc",
  "src/processes": "subreaper",
  "src/reports/ci": "csv-report junit",
  "src/reports/html": "html-report",
  "src/reports/page": "data dom score-table task-table",
  "src/reports/text": "run-summary task-time",
  "src/sandbox":
    "bubblewrap cgroup disk-usage files private-folders process-tree python-bootstrap run-python safe-open workspace-error workspace",
  "src/scoring": "art-rubric parse-dates rouge-l value-match",
  "src/scoring/judge": "art-protocol ask-judge delimit-untrusted majority",
  "src/servers/http": "access-log sse-writer",
  "src/servers/openai": "openai-format",
  "src/servers/playground": "playground-events",
  "src/servers/routes": "tool-permissions",
  "src/statistics": "cluster-sums mcnemar paired-difference pass-at-k power student-t wilson",
  "src/store/connection": "migrate open-store tick-transaction write-transaction",
  "src/store/import": "atomic-import corpus-index corpus-writer owners",
  "src/store/registry": "agent-versions",
  "src/store/runs": "process-identity recent-traces result-writer-thread result-writer run-tasks runs score-writes",
  "src/store/search":
    "art-search bm25f candidate-generation fts-postings fts-query mail-search mailbox-listing near-addresses posting-lists snippet term-matches",
  "src/store/tokenizer": "bigrams",
  "src/tools": "linear-pattern schema-unfolding",
  "src/tools/builtin": "art-search email-search",
  "src/tools/search-pool": "search-handlers search-pool search-thread search-warmup",
  "src/web": "public-address",
};

export const LONG_COMMENTS: ReadonlySet<string> = new Set(
  Object.entries(WIDE_COMMENTS).flatMap(([folder, names]) => names.split(" ").map((name) => `${folder}/${name}.ts`)),
);

/** `path` or `path name`: names that are still to be replaced. */
export const OLD_WORDS: ReadonlySet<string> = new Set([
  "src/app/chat/ask.ts Asked",
  "src/app/run/server-watch.ts hopeless",
  "src/commands/cli/read-flags.ts whole",
  "src/models/middleware/verdict-cache.ts",
  "src/reports/page/dom.ts foreign",
  "src/reports/page/route.ts Place",
]);

/** Commands with SQL, to be moved to store/. */
export const SQL_IN_COMMANDS: ReadonlySet<string> = new Set([
  "src/commands/doctor.ts",
  "src/commands/run/run-results.ts",
]);

/** Files below the doors that use the process. */
export const PROCESS_USERS: ReadonlyMap<string, string> = new Map([
  ["src/app/settings/env-file.ts", "Reads the environment and .env once, for every door."],
  [
    "src/app/run/open-agent-target.ts",
    "Shows the stderr of an agent's program with --verbose; the door is to pass a function.",
  ],
]);
