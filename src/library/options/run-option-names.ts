// The flags of `art-e run` that are options of the library. Their types and descriptions come from `runs/run-flags`.

/** Options that are not stored with a run. */
export const SESSION_OPTIONS = [
  "concurrency",
  "rpm",
  "tpm",
  "taskTimeout",
  "requestTimeout",
  "maxCost",
  "maxRunTokens",
  "maxTime",
  "maxFailures",
  "cache",
  "output",
] as const;

/** Options of a new run. */
export const RUN_OPTIONS = [
  "name",
  "modelId",
  "modelProvider",
  "baseUrl",
  "temperature",
  "maxTurns",
  "maxTokens",
  "reasoningEffort",
  "price",
  "epochs",
  "cutoff",
  "maxTaskCost",
  "judge",
  "judgeVotes",
  "noJudge",
  "partialInboxes",
] as const;

export type SessionOptionName = (typeof SESSION_OPTIONS)[number];
export type RunOptionName = (typeof RUN_OPTIONS)[number];
