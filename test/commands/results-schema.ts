/** The results file, field by field as `src/domain/result.ts` documents it: a field more or less is an error. */
import { z } from "zod";
import { ENDINGS } from "../../src/domain/ending.js";

const share = z.number().min(0).max(1).nullable();

const usage = z.strictObject({
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
  cachedInputTokens: z.number().int(),
});

const averages = {
  exactMatchAccuracy: share,
  avgSemanticScore: share,
  sourcesCorrect: share,
  foundGold: share,
  readGold: share,
};

const taskResult = z.strictObject({
  taskId: z.number().int(),
  epoch: z.number().int().positive(),
  inbox: z.string(),
  queryDate: z.iso.date(),
  howRealistic: z.number().min(0).max(1),
  goldSources: z.number().int().nonnegative(),
  question: z.string(),
  groundTruth: z.string(),
  agentAnswer: z.string(),
  exactMatch: z.boolean().nullable(),
  semanticScore: share,
  executionTimeMs: z.number().int().nonnegative(),
  traceId: z.string().startsWith("trace_"),
  error: z.string().optional(),
  ending: z.enum(ENDINGS),
  turns: z.number().int(),
  usage,
  costUsd: z.number().nullable(),
  sources: z.array(z.string()),
  sourcesCorrect: z.boolean().nullable(),
  foundGold: z.boolean().nullable(),
  readGold: z.boolean().nullable(),
  retries: z.number().int(),
  scores: z.record(z.string(), z.number().nullable()),
});

const settings = z.strictObject({
  agentId: z.string(),
  agentVersion: z.number().int().nonnegative(),
  elsewhere: z
    .discriminatedUnion("kind", [
      z.strictObject({
        kind: z.literal("api"),
        url: z.url(),
        workspace: z.string().nullable(),
        tellTask: z.boolean(),
      }),
      z.strictObject({ kind: z.literal("command"), argv: z.array(z.string()).min(1) }),
      z.strictObject({ kind: z.literal("endpoint"), url: z.url() }),
    ])
    .optional(),
  repeats: z.string().optional(),
  model: z.string(),
  baseUrl: z.string().nullable(),
  wireApi: z.string().nullable(),
  prompt: z.string(),
  tools: z.array(z.string()),
  toolsDigest: z.string().regex(/^[0-9a-f]{64}$/),
  maxTurns: z.number(),
  maxTokens: z.number(),
  temperature: z.number().nullable(),
  toolCalls: z.string(),
  toolChoice: z.string(),
  cutoff: z.enum(["query_date", "off"]),
  taskTimeoutMs: z.number(),
  maxTaskCostUsd: z.number().nullable(),
  price: z.strictObject({ input: z.number(), output: z.number(), cachedInput: z.number() }).nullable(),
  concurrency: z.union([z.literal("auto"), z.number()]),
  epochs: z.number().int().positive(),
  changes: z.array(z.string()).min(1).optional(),
  selection: z.strictObject({
    limit: z.number(),
    minRealism: z.number().optional(),
    maxSources: z.number().optional(),
    ids: z.array(z.number()).optional(),
    inbox: z.string().optional(),
    excludeKnownBad: z.boolean(),
    shuffle: z.boolean(),
    seed: z.number().optional(),
  }),
});

export const totalsSchema = z.strictObject({
  runId: z.string().regex(/^run_\d{8}-\d{6}_[0-9a-f]{6}$/),
  agentId: z.string(),
  model: z.string(),
  split: z.enum(["train", "test"]),
  totalTasks: z.number().int(),
  completedTasks: z.number().int(),
  failedTasks: z.number().int(),
  ...averages,
  avgExecutionTimeMs: z.number().nullable(),
  totalTimeMs: z.number().int(),
  startedAt: z.iso.datetime(),
  completedAt: z.iso.datetime(),
  overAllTasks: z.strictObject({ tasks: z.number().int(), ...averages }),
  endings: z.partialRecord(z.enum(ENDINGS), z.number().int()),
  turns: z.number().int(),
  usage,
  costUsd: z.number().nullable(),
  retries: z.number().int(),
});

export const resultsSchema = totalsSchema.extend({
  settings,
  versions: z.strictObject({ "art-e": z.string(), node: z.string(), sqlite: z.string() }),
  dataset: z.strictObject({
    source: z.string(),
    revision: z.string().nullable(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
  }),
  /** Empty: no mail here, the agent has its own. */
  corpusFingerprint: z.string().regex(/^([0-9a-f]{64})?$/),
  taskResults: z.array(taskResult),
});

export type Results = z.output<typeof resultsSchema>;
export type ResultLine = Results["taskResults"][number];

/** What two runs over the same questions must have in common: all but times and ids. */
export function answersOf({ taskResults }: Results): Omit<ResultLine, "executionTimeMs" | "traceId">[] {
  return taskResults.map(({ executionTimeMs: _, traceId: __, ...same }) => same);
}
