import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { refuseInputs, replayFile } from "../../commands/cli/check-outputs.js";
import { outputsOf, type RunFlags } from "../../commands/run/run-flags.js";
import type { Agent } from "../../domain/agents/agent.js";
import { UserError } from "../../domain/errors.js";
import type { Model, PriceOf } from "../../domain/models/model.js";
import type { RunSettings } from "../../domain/runs/benchmark-result.js";
import type { RunLimits } from "../../domain/runs/run-limits.js";
import { DEFAULT_MODEL } from "../../models/default-models.js";
import { checkBaseUrl } from "../../models/endpoint.js";
import { RateLimiter } from "../../models/middleware/rate-limiter.js";
import { recording } from "../../models/middleware/record.js";
import { cachingReplies } from "../../models/middleware/reply-cache.js";
import { type ModelName, parseModelName } from "../../models/model-name.js";
import { priceAt, priceOfReply } from "../../models/prices.js";
import { isRemote } from "../../models/provider-names.js";
import { resolveModel, wireApiOf } from "../../models/resolve-model.js";
import { DEFAULT_RETRY } from "../../platform/retry.js";
import { connectionOf, type Settings } from "../settings/settings.js";

/** Tasks at once where no server sets the pace. */
const LOCAL_CONCURRENCY = 5;

/** The model asked for, else the agent's own, else the default. */
export function modelNameOf(flags: RunFlags, agent: Agent): ModelName {
  const provider = flags.modelProvider ?? null;
  if (flags.modelId !== undefined) return parseModelName(flags.modelId, provider, flags.baseUrl !== undefined);
  const own = agent.model ?? DEFAULT_MODEL;
  if (provider !== null && parseModelName(own, null).provider !== provider) {
    throw new UserError(
      "NO_MODEL",
      `--model-provider ${provider} is given without a model of it.`,
      `Name one with --model-id, for example --model-id ${provider}/NAME.`,
    );
  }
  return parseModelName(own, null);
}

/** A run's model, ready to be asked. */
export interface CreatedModel {
  readonly model: Model;
  /** Null where nothing is sent anywhere. */
  readonly throttle: RateLimiter | null;
  readonly onConcurrency: (listener: (tasks: number) => void) => void;
  /** US dollars; null where the price is not known. */
  readonly priceOf: PriceOf;
  close(): void;
}

/** Reaches the model that the settings name. `append`: the recording goes on with what an earlier session recorded. */
export async function createModel(
  run: RunSettings,
  flags: RunFlags,
  settings: Settings,
  append: boolean,
): Promise<CreatedModel> {
  if (run.elsewhere !== undefined) return unmanagedModel(run, flags);
  const name = parseModelName(run.model, null);
  keepReplies(run, flags, settings);
  const connection = connectionOf(
    name.provider,
    { baseUrl: run.baseUrl, wireApi: run.wireApi, timeoutMs: flags.requestTimeout * 1_000 },
    settings.env,
  );
  const { concurrency, rpm = null, tpm = null } = flags;
  const throttle = isRemote(name.provider) ? new RateLimiter({ concurrency, rpm, tpm }) : null;
  const reached = flags.dryRun ? unasked(run.model) : await resolveModel(name, connection, DEFAULT_RETRY, throttle);
  const price = priceNow(run);
  const kept = flags.cache ? cached(reached, run, name, settings) : reached;
  const record = flags.record === undefined ? null : openRecord(flags.record, append ? "a" : "w");
  const model = record === null ? kept : recording(kept, price, record.write);
  const fixed = concurrency === "auto" ? LOCAL_CONCURRENCY : concurrency;
  return {
    model,
    throttle,
    onConcurrency: (listener) => (throttle === null ? listener(fixed) : throttle.onLimit(listener)),
    priceOf: price,
    close: () => record?.close(),
  };
}

function priceNow({ model, price }: RunSettings): PriceOf {
  return (usage, answeredBy) => (price === null ? priceOfReply(model, answeredBy, usage) : priceAt(price, usage));
}

/** Of a stored run and of an agent the flags do not say which recorded replies are read: its settings do. */
function keepReplies(run: RunSettings, flags: RunFlags, { db }: Settings): void {
  const replies = [run.model, run.judge?.model].map((model) => ({
    name: "the file of replies",
    path: replayFile(model),
  }));
  for (const { flag, path } of outputsOf(flags)) if (path !== undefined) refuseInputs({ flag, path }, replies, db);
}

/** Outside of retries and throttle: what is kept takes no place. */
function cached(model: Model, run: RunSettings, { provider }: ModelName, { cacheDir }: Settings): Model {
  if (!isRemote(provider)) {
    throw new UserError(
      "flags_contradict",
      `--cache is not for ${run.model}: it asks no server.`,
      "Leave --cache out.",
    );
  }
  const baseUrl = run.baseUrl === null ? null : checkBaseUrl(run.baseUrl);
  const wireApi = provider === "openai" ? wireApiOf(run.wireApi, baseUrl) : null;
  const folder = join(cacheDir, "replies");
  return cachingReplies(model, { model: run.model, baseUrl, wireApi }, folder, priceNow(run));
}

/** Of an agent elsewhere only the pace is set here: what it costs is known if it tells, or tells its tokens. */
function unmanagedModel({ model, price, elsewhere }: RunSettings, flags: RunFlags): CreatedModel {
  const { concurrency, rpm = null, tpm = null } = flags;
  const throttle = elsewhere?.kind === "command" ? null : new RateLimiter({ concurrency, rpm, tpm });
  const fixed = concurrency === "auto" ? LOCAL_CONCURRENCY : concurrency;
  return {
    model: unasked(model),
    throttle,
    onConcurrency: (listener) => (throttle === null ? listener(fixed) : throttle.onLimit(listener)),
    priceOf: (usage) => (price === null ? null : priceAt(price, usage)),
    close: () => {},
  };
}

/** Stands for a model that nobody is going to ask, and that needs no key therefore. */
function unasked(id: string): Model {
  return { id, complete: () => Promise.reject(new Error(`${id} is not asked from here`)) };
}

/** Opened at the first reply: a run that is refused must not empty what an earlier one recorded. */
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

/** A limit in dollars says nothing where nobody knows what a token costs. */
export function checkPriced({ priceOf: price }: CreatedModel, run: RunSettings, { maxCostUsd }: RunLimits): void {
  const flag = maxCostUsd !== null ? "--max-cost" : run.maxTaskCostUsd !== null ? "--max-task-cost" : null;
  const million = { inputTokens: 1_000_000, outputTokens: 1_000_000, cachedInputTokens: 0 };
  // A program may tell what it cost itself.
  if (flag === null || run.elsewhere?.kind === "command" || price(million) !== null) return;
  throw new UserError(
    "price_unknown",
    `${flag} cannot be kept: the price of ${run.model} is not known.`,
    "Give it: --price IN,OUT in US dollars for a million tokens.",
  );
}
