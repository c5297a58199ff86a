import { z } from "zod";
import { jsonObjectSchema } from "../domain/json.js";
import { runSettingsSchema } from "../domain/runs/run-settings.js";
import { questionSchema } from "../domain/tasks/question.js";

/** Grows when a message changes its meaning. */
export const PROTOCOL = 1;

const toolSchema = z.strictObject({
  tool: z.strictObject({
    id: z.string().min(1),
    name: z.string(),
    description: z.string(),
    parametersSchema: jsonObjectSchema,
    handlerKey: z.string(),
    handlerConfig: jsonObjectSchema,
    category: z.string(),
  }),
  config: z.string().nullable(),
});

/** What a worker has to know of a run, read once: the agent's version, its tools, settings and scorers. No key. */
export const runManifestSchema = z.strictObject({
  protocol: z.literal(PROTOCOL),
  runId: z.string().regex(/^run_[\w-]{1,100}$/),
  programVersion: z.string(),
  /** Empty: its tasks are not about mail. */
  corpusFingerprint: z.string(),
  /** The suite that its tasks are of, and the SHA-256 of its task files; null: questions. */
  suite: z.strictObject({ name: z.string(), digest: z.string() }).nullable(),
  settings: runSettingsSchema,
  tools: z.array(toolSchema),
  requests: z.strictObject({
    timeoutMs: z.number().positive(),
    rpm: z.number().positive().nullable(),
    tpm: z.number().positive().nullable(),
    /** Answer from the worker's cache folder, as --cache does. */
    cache: z.boolean(),
  }),
});

export type RunManifest = z.output<typeof runManifestSchema>;

/** One task on the queue. */
export const taskMessageSchema = z.strictObject({
  /** Of a suite, its id: the rest is in the worker's own folder. */
  task: z.union([questionSchema.strict(), z.strictObject({ suiteTask: z.string() })]),
  epoch: z.number().int().positive(),
});

export type TaskMessage = z.output<typeof taskMessageSchema>;

/** What a worker gives back for a task. */
export const resultMessageSchema = z.strictObject({
  worker: z.string(),
  /** A trace, compressed. */
  trace: z.string(),
  /** A failure that may be the server's: it counts only if the server answers again. */
  isHeld: z.boolean(),
  /** How the model's server was at this worker when the task ended. */
  server: z.enum(["answering", "failing", "unreachable"]),
});

export type ResultMessage = z.output<typeof resultMessageSchema>;

const runOfWorkerSchema = z.strictObject({
  /** The attempt at the run that it has read. */
  attempt: z.string(),
  active: z.number().int().nonnegative(),
  answered: z.number().int().nonnegative(),
  /** Answered in the last half minute. */
  perSecond: z.number().nonnegative(),
  /** What its requests wait for; null where none does. */
  waitingFor: z.enum(["concurrency", "rate", "tokens", "server"]).nullable(),
});

/** Why no further task of a run can succeed at a worker. */
const faultSchema = z.strictObject({ by: z.enum(["key", "model", "server"]), why: z.string() });

/** A worker, as it shows itself every few seconds. */
export const workerStateSchema = z.strictObject({
  id: z.string().min(1),
  name: z.string(),
  programVersion: z.string(),
  slots: z.number().int().positive(),
  /** The runs that it answers tasks of. */
  runs: z.record(z.string(), runOfWorkerSchema),
  /** Those that it does not, and why. */
  refused: z.record(z.string(), z.string()),
  /** Those that it has left, as no further task could succeed. */
  faults: z.record(z.string(), faultSchema),
});

export type WorkerState = z.output<typeof workerStateSchema>;
