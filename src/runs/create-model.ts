import { closeSync, openSync, writeSync } from "node:fs";
import type { Model, PriceOf } from "../models/model.js";
import { checkBaseUrl, DEFAULT_MODEL, isRemote, type ModelName, parseModelName } from "../models/names.js";
import { connectionOf, keepReplies, resolveModel } from "../models/open-model.js";
import { isPriced, priceAt, priceOfReply } from "../models/prices.js";
import { RateLimiter, type SharedLimiter } from "../models/rate-limiter.js";
import { recording } from "../models/replay.js";
import { withPrices } from "../models/retry.js";
import type { AppSettings } from "../platform/context.js";
import { UserError } from "../platform/errors.js";
import { DEFAULT_RETRY } from "../platform/retry.js";
import type { Agent } from "../tools/tool.js";
import { refuseInputs, replayFile } from "../trace-formats/output-files.js";
import type { RunLimits, RunSettings } from "../traces/run-settings.js";
import { outputsOf, type RunOptions } from "./options.js";

/** Concurrent tasks where no server limits the rate. */
const LOCAL_CONCURRENCY = 5;

/** The model of the options, else the agent's, else the default. */
export function modelNameOf(options: RunOptions, agent: Agent): ModelName {
  const provider = options.modelProvider ?? null;
  if (options.modelId !== undefined) return parseModelName(options.modelId, provider, options.baseUrl !== undefined);
  const own = agent.model ?? DEFAULT_MODEL;
  // Refuses a provider that there is not.
  if (provider !== null) parseModelName("any", provider);
  if (provider !== null && parseModelName(own, null).provider !== provider) {
    throw new UserError(
      "no_model",
      `--model-provider ${provider} is given without a model of it.`,
      `Name one with --model-id, for example --model-id ${provider}/NAME.`,
    );
  }
  return parseModelName(own, null);
}

export interface CreatedModel {
  readonly model: Model;
  /** Null where nothing is sent to a server. */
  readonly throttle: RateLimiter | null;
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** US dollars; null where the price is not known. */
  readonly priceOf: PriceOf;
  close(): void;
}

export type ModelOptions = Pick<RunOptions, "concurrency" | "rpm" | "tpm" | "requestTimeout" | "cache" | "record"> &
  Parameters<typeof outputsOf>[0] & {
    readonly shared?: SharedLimiter | undefined;
  };

/** Creates the model that the settings name. `append`: add to the recording of an earlier attempt. */
export async function createModel(
  run: RunSettings,
  options: ModelOptions,
  settings: AppSettings,
  { append, callsModel }: { readonly append: boolean; readonly callsModel: boolean },
): Promise<CreatedModel> {
  if (run.elsewhere !== undefined) return unmanagedModel(run, options);
  const name = parseModelName(run.model, null);
  refuseToOverwriteReplies(run, options, settings);
  const connection = connectionOf(
    name.provider,
    { baseUrl: run.baseUrl, wireApi: run.wireApi, timeoutMs: options.requestTimeout * 1_000 },
    settings.env,
  );
  const { concurrency, rpm = null, tpm = null, shared } = options;
  const throttle = isRemote(name.provider) ? new RateLimiter({ concurrency, rpm, tpm, shared }) : null;
  const remote = callsModel ? await resolveModel(name, connection, DEFAULT_RETRY, throttle) : neverCalled(run.model);
  const price = priceOfRun(run);
  const priced = withPrices(remote, price);
  const withCache = options.cache ? cached(priced, run, name, settings) : priced;
  const record = options.record === undefined ? null : openRecord(options.record, append ? "a" : "w");
  const model = record === null ? withCache : recording(withCache, record.write);
  const fixed = concurrency === "auto" ? LOCAL_CONCURRENCY : concurrency;
  return {
    model,
    throttle,
    onConcurrency: (listener) => (throttle === null ? listener(fixed) : throttle.onLimit(listener)),
    priceOf: price,
    close: () => record?.close(),
  };
}

function priceOfRun({ model, price }: RunSettings): PriceOf {
  return (usage, answeredBy) => (price === null ? priceOfReply(model, answeredBy, usage) : priceAt(price, usage));
}

/** Refuses outputs that are the replayed recording: for stored runs and agents only the settings name it. */
function refuseToOverwriteReplies(run: RunSettings, options: ModelOptions, { db }: AppSettings): void {
  const replies = [run.model, run.judge?.model].map((model) => ({
    name: "the file of replies",
    path: replayFile(model),
  }));
  for (const { flag, path } of outputsOf(options)) if (path !== undefined) refuseInputs({ flag, path }, replies, db);
}

/** Outside of retries and rate limiter: a cached reply uses no slot. */
function cached(model: Model, run: RunSettings, name: ModelName, settings: AppSettings): Model {
  if (!isRemote(name.provider)) {
    throw new UserError(
      "flags_contradict",
      `--cache is not for ${run.model}: it asks no server.`,
      "Leave --cache out.",
    );
  }
  const baseUrl = run.baseUrl === null ? null : checkBaseUrl(run.baseUrl);
  return keepReplies(model, name, { baseUrl, wireApi: run.wireApi }, settings);
}

/** For an external agent, only the rate is limited here. Its cost is known if it reports cost or tokens. */
function unmanagedModel({ model, price, elsewhere }: RunSettings, options: ModelOptions): CreatedModel {
  const { concurrency, rpm = null, tpm = null } = options;
  const throttle = elsewhere?.kind === "command" ? null : new RateLimiter({ concurrency, rpm, tpm });
  const fixed = concurrency === "auto" ? LOCAL_CONCURRENCY : concurrency;
  return {
    model: neverCalled(model),
    throttle,
    onConcurrency: (listener) => (throttle === null ? listener(fixed) : throttle.onLimit(listener)),
    priceOf: (usage) => (price === null ? null : priceAt(price, usage)),
    close: () => {},
  };
}

function neverCalled(id: string): Model {
  return { id, complete: () => Promise.reject(new Error(`${id} is not asked from here`)) };
}

/** Opened at the first reply: a run that is refused must not truncate an earlier recording. */
function openRecord(path: string, mode: "a" | "w") {
  let file: number | null = null;
  return {
    write(line: string): void {
      file ??= openSync(path, mode);
      writeSync(file, line);
    },
    close(): void {
      if (file !== null) closeSync(file);
    },
  };
}

export function checkPriced({ priceOf: price }: CreatedModel, run: RunSettings, { maxCostUsd }: RunLimits): void {
  const flag = maxCostUsd !== null ? "--max-cost" : run.maxTaskCostUsd !== null ? "--max-task-cost" : null;
  // A subprocess agent may report its own cost.
  if (flag === null || run.elsewhere?.kind === "command" || isPriced(price)) return;
  throw new UserError(
    "price_unknown",
    `${flag} cannot be kept: the price of ${run.model} is not known.`,
    "Give it: --price IN,OUT in US dollars for a million tokens.",
  );
}
