// The models that write and check questions, and the budget that they share.
import { CostLimit } from "../models/call-budget.js";
import { requirePriced } from "../models/call-cost.js";
import { serverOf } from "../models/connections.js";
import type { Model } from "../models/model.js";
import { parseModelName } from "../models/model-names.js";
import { isSameAccount, openModel, pricesOf } from "../models/open-model.js";
import type { RateLimiter } from "../models/rate-limiter.js";
import type { AppContext } from "../platform/app-context.js";
import { protocolVersion } from "../scoring/judge.js";
import { createJudge, JUDGE_TIMEOUT_MS } from "../scoring/judge-settings.js";
import { answerRequest, readCheckerAnswer } from "./check-questions/check-by-model.js";
import type { Checker } from "./check-questions/check-by-rules.js";

/**
 * The models that write and check questions. Without a writer, questions are made from patterns. Without a checker,
 * only rules apply.
 */
export interface OpenedModels {
  readonly writer: Model | null;
  readonly checker: Checker | null;
}

interface ModelChoice extends Pick<MakeOptions, "baseUrl" | "checker" | "checkerBaseUrl" | "maxCost"> {
  /** provider/model, or null if questions are made from patterns. */
  readonly writer: string | null;
}

interface QuestionModel {
  readonly model: Model;
  readonly throttle: RateLimiter;
  readonly baseUrl: string | null;
}

export interface MakeOptions {
  /** Addresses of mailboxes. Empty means every imported mailbox. */
  readonly inbox: readonly string[];
  readonly number: number;
  readonly output: string;
  readonly model: string;
  readonly baseUrl?: string | undefined;
  /** provider/model, or `off`. Undefined selects the writing model, or only rules if that is offline/patterns. */
  readonly checker?: string | undefined;
  readonly checkerBaseUrl?: string | undefined;
  /** Fraction of questions that are unanswerable, 0 to 1. */
  readonly unanswerable: number;
  /** Fraction of mailboxes whose questions are for training, 0 to 1. */
  readonly train: number;
  readonly seed: number;
  /** Minimum email length in characters. Shorter emails rarely contain an answer. */
  readonly minChars: number;
  readonly maxCost?: number | undefined;
  readonly overwrite: boolean;
}

/** Opens the models. Without a separate checker, the writer checks its own questions. */
export async function openModels(
  options: ModelChoice,
  spending: ModelSpending,
  context: AppContext,
): Promise<OpenedModels> {
  const { settings, note } = context;
  // With cached replies, an interrupted command can run again without being billed twice.
  const open = async (
    id: string,
    address: string | undefined,
    addressFlag: string,
    shared: RateLimiter | null,
  ): Promise<QuestionModel> => {
    const name = parseModelName(id, null, address !== undefined);
    const baseUrl = serverOf(name.provider, address, settings.env, addressFlag);
    if (options.maxCost !== undefined) {
      const hint = "Remove --max-cost, or choose a model with a known price.";
      requirePriced(await pricesOf(name), "--max-cost", name.id, hint);
    }
    const limits = { throttle: shared, costLimit: spending.limit };
    const connection = { baseUrl, timeoutMs: TIMEOUT_MS, ...limits, cache: true, note };
    const { model, throttle } = await openModel(name, connection, settings);
    return { model: spending.countCached(model), throttle, baseUrl };
  };
  const { writer: writerId, baseUrl, checker: checkerId, checkerBaseUrl } = options;
  const writer = writerId === null ? null : await open(writerId, baseUrl, "--base-url", null);
  const openChecking = () => {
    if (checkerId === "off") return null;
    if (checkerId === undefined) return writer;
    const isShared =
      writerId !== null && isSameAccount({ model: checkerId, baseUrl: checkerBaseUrl }, { model: writerId, baseUrl });
    return open(checkerId, checkerBaseUrl, "--checker-base-url", isShared ? (writer?.throttle ?? null) : null);
  };
  const checking = await openChecking();
  return {
    writer: writer?.model ?? null,
    checker: checking === null ? null : await openChecker(checking, spending, context),
  };
}

/** Opens a checker that calls a model. The judge's protocol determines whether two answers agree. */
async function openChecker(
  { model, throttle, baseUrl }: QuestionModel,
  spending: ModelSpending,
  { settings, note }: AppContext,
): Promise<Checker> {
  const { judge } = await createJudge(
    { model: model.id, baseUrl, protocol: "verdict", version: protocolVersion("verdict"), votes: 1 },
    settings,
    { timeoutMs: JUDGE_TIMEOUT_MS, throttle, note, costLimit: spending.limit },
  );
  return {
    id: model.id,
    async answer(question, mails, signal) {
      return readCheckerAnswer(await model.complete(answerRequest(question, mails), signal));
    },
    async agree(pair, signal) {
      const { verdict, cast } = await judge.judge(pair, signal);
      signal.throwIfAborted();
      spending.cachedReplies += cast.filter(({ cached }) => cached).length;
      return verdict === null ? null : verdict === "correct";
    },
  };
}

/** Timeout per call. It is long because a batch of emails is long and reasoning models are slow. */
const TIMEOUT_MS = 300_000;

/** Tracks the cost of a command's calls against its limit, and the number of cached replies. */
export class ModelSpending {
  cachedReplies = 0;
  readonly limit: CostLimit;

  /** @param maxCostUsd limit in US dollars, or undefined for no limit */
  constructor(maxCostUsd: number | undefined) {
    this.limit = new CostLimit(maxCostUsd ?? null);
  }

  /** Wraps a model with a cache to count its cached replies. */
  countCached(model: Model): Model {
    return {
      id: model.id,
      complete: async (request, signal) => {
        const completion = await model.complete(request, signal);
        if (completion.cached) this.cachedReplies++;
        return completion;
      },
    };
  }
}

export const PATTERNS_MODEL = "offline/patterns";
