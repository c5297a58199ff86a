// The model of a run, with its rate limiter, recording and price check.
import { closeSync, openSync, writeSync } from "node:fs";
import type { Agent } from "../agents/agent.js";
import { priceAt, requirePriced } from "../models/call-cost.js";
import type { Model, PriceOf } from "../models/model.js";
import { DEFAULT_MODEL, isRemote, type ModelName, parseModelName } from "../models/model-names.js";
import { openModel, pricesOf } from "../models/open-model.js";
import { RateLimiter, type RateLimits, type SharedLimiter } from "../models/rate-limiter.js";
import { recording } from "../models/replay.js";
import { type GivenExtras, openExtras } from "../models/request-extras.js";
import type { AppContext, AppSettings } from "../platform/app-context.js";
import { reasonOf, UserError } from "../platform/errors.js";
import { refuseInputs, replayFile } from "../trace-formats/output-files.js";
import type { ExecutedRunSettings, RunLimits } from "../traces/run-settings.js";
import type { RunOptions } from "./run-flags.js";
import { outputsOf, type RunRequest } from "./run-options.js";

export interface CreatedModel {
  readonly model: Model;
  /** Rate limiter, or null if nothing is sent to a server. */
  readonly throttle: RateLimiter | null;
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** Changes limits while calls are running. Throws a UserError if the model does not have one of the limits. */
  setLimits(changes: Partial<RateLimits>): void;
  /** In US dollars, or null if the price is unknown. */
  readonly priceOf: PriceOf;
  close(): void;
}

type ModelOptions = Pick<RunRequest, "concurrency" | "requestTimeout" | "cache"> &
  GivenExtras &
  Partial<Pick<RunRequest, "rpm" | "tpm" | "record" | "output" | "junit" | "resume" | "dryRun" | "queue">> & {
    /** Limits shared with other machines. */
    readonly shared?: SharedLimiter | undefined;
  };

/** Concurrent tasks if no server limits the rate. */
const LOCAL_CONCURRENCY = 5;

/** Returns the model from the options, otherwise the agent's, otherwise the default. */
export function modelNameOf(options: RunOptions, agent: Agent): ModelName {
  const provider = options.modelProvider ?? null;
  if (options.modelId !== undefined) return parseModelName(options.modelId, provider, options.baseUrl !== undefined);
  const own = agent.model ?? DEFAULT_MODEL;
  // Refuses an unknown provider.
  if (provider !== null) parseModelName("any", provider);
  if (provider !== null && parseModelName(own, null).provider !== provider) {
    throw new UserError(
      "model_missing",
      `--model-provider ${provider} requires a model.`,
      `Pass one, such as --model-id ${provider}/NAME.`,
    );
  }
  return parseModelName(own, null);
}

/** Creates the model that the settings specify. A resumed run appends to its recording. */
export async function createModel(
  run: ExecutedRunSettings,
  options: ModelOptions,
  { settings, note }: Pick<AppContext, "settings" | "note">,
): Promise<CreatedModel> {
  const { concurrency, rpm = null, tpm = null, shared } = options;
  const isLimited =
    run.kind === "external"
      ? run.externalAgent.kind === "api" || run.externalAgent.kind === "endpoint"
      : isRemote(parseModelName(run.model, null).provider);
  const throttle = isLimited ? new RateLimiter({ concurrency, rpm, tpm, shared }) : null;
  const isPerson = run.kind === "external" && run.externalAgent.kind === "human";
  const tasks = isPerson ? 1 : concurrency === "auto" ? LOCAL_CONCURRENCY : concurrency;
  // Without a server, no call passes through the limiter. It only sets the number of concurrent tasks.
  const limiter = throttle ?? new RateLimiter({ concurrency: tasks, rpm: null, tpm: null });
  const limits = {
    throttle,
    onConcurrency: (listener: (tasks: number) => void) => limiter.onLimit(listener),
    setLimits(changes: Partial<RateLimits>): void {
      if (isPerson) throw limitUnsupported("A person answers one task at a time.");
      const isAnyRate = changes.rpm !== undefined || changes.tpm !== undefined;
      if (throttle === null && isAnyRate) throw limitUnsupported(`${run.model} does not call a server.`);
      limiter.set(throttle === null && changes.concurrency === "auto" ? { concurrency: LOCAL_CONCURRENCY } : changes);
    },
  };
  const { price } = run;
  // For an external agent, only the rate is limited here. Its cost is known if it reports cost or tokens.
  if (run.kind === "external") {
    const priceOf: PriceOf = (usage) => (price === null ? null : priceAt(price, usage));
    return { ...limits, model: neverCalled(run.model), priceOf, close: () => {} };
  }
  const name = parseModelName(run.model, null);
  refuseToOverwriteReplies(run, options, settings);
  if (options.cache && throttle === null) {
    throw new UserError(
      "flags_contradict",
      `--cache does not apply to ${run.model}, which does not call a server.`,
      "Remove --cache.",
    );
  }
  const priceOf: PriceOf = price === null ? await pricesOf(name) : (usage) => priceAt(price, usage);
  const isCalled = options.dryRun !== true && options.queue === undefined;
  const { baseUrl, wireApi } = run;
  // Opened even if the model is not called, so that an unset variable is found before the run starts.
  const extras = options.queue === undefined ? openExtras(run, options, settings.env) : undefined;
  const connection = { baseUrl, wireApi, timeoutMs: options.requestTimeout * 1_000, extras };
  const created = isCalled
    ? (
        await openModel(name, { ...connection, throttle, priceOf, cache: options.cache, note }, settings).catch(
          suggestOffline,
        )
      ).model
    : neverCalled(run.model);
  const record =
    options.record === undefined ? null : openRecord(options.record, options.resume === undefined ? "w" : "a");
  const model = record === null ? created : recording(created, record.write);
  return { ...limits, model, priceOf, close: () => record?.close() };
}

/** Adds to a missing key's hint the agent model that works without one. Other models, such as judges, have none. */
function suggestOffline(error: unknown): never {
  if (!(error instanceof UserError && error.code === "api_key_missing")) throw error;
  const hint = `${error.hint} Or pass --model-id offline/baseline, which does not need a key.`;
  throw new UserError(error.code, error.message, hint, error.exitCode, { cause: error });
}

function limitUnsupported(why: string): UserError {
  return new UserError("limit_unsupported", `Cannot set this limit: ${why}`, "Leave it out.");
}

/**
 * Refuses outputs that would overwrite the replayed recording. For stored runs and agents, only the settings contain
 * its path.
 */
function refuseToOverwriteReplies(run: ExecutedRunSettings, options: ModelOptions, { db }: AppSettings): void {
  const replies = [run.model, run.judge?.model].map((model) => ({
    name: "the file of replies",
    path: replayFile(model),
  }));
  for (const { flag, path } of outputsOf(options)) if (path !== undefined) refuseInputs({ flag, path }, replies, db);
}

/** Returns a model that is never called and therefore needs no key. */
function neverCalled(id: string): Model {
  return { id, complete: () => Promise.reject(new Error(`${id} is not asked from here`)) };
}

/** Opens the file at the first reply, because a refused run must not truncate an earlier recording. */
function openRecord(path: string, mode: "a" | "w") {
  let file: number | null = null;
  return {
    write(line: string): void {
      try {
        file ??= openSync(path, mode);
        writeSync(file, line);
      } catch (cause) {
        throw new UserError(
          "output_unwritable",
          `--record: Cannot write ${path}: ${reasonOf(cause)}.`,
          "Free some space, then continue the run with --resume, and pass --record again to record the rest.",
          1,
          { cause },
        );
      }
    },
    close(): void {
      if (file !== null) closeSync(file);
    },
  };
}

export function checkPriced({ priceOf }: CreatedModel, run: ExecutedRunSettings, { maxCostUsd }: RunLimits): void {
  const isTaskLimited = run.kind === "own" && run.maxTaskCostUsd !== null;
  const flag = maxCostUsd !== null ? "--max-cost" : isTaskLimited ? "--max-task-cost" : null;
  // A program and a function can report their own cost.
  const reportsCost = run.kind === "external" && ["command", "function"].includes(run.externalAgent.kind);
  if (flag === null || reportsCost) return;
  requirePriced(priceOf, flag, run.model, "Pass --price IN,OUT in US dollars per million tokens.");
}
