import type { Model } from "../../../domain/models/model.js";
import type { RateLimiter } from "../../../models/middleware/rate-limiter.js";
import type { Checker } from "../../../questions/checks/checker.js";
import { isSameAccount } from "../../settings/open-model.js";
import type { AppContext } from "../../use-case-context.js";
import type { MakeOptions } from "./make-options.js";
import type { ModelSpending } from "./model-spending.js";
import { openChecker } from "./open-checker.js";
import { openQuestionModel } from "./open-question-model.js";

/** The models that make and check questions; null: patterns make them, rules alone check them. */
export interface OpenedModels {
  readonly writer: Model | null;
  readonly checker: Checker | null;
}

interface ModelChoice extends Pick<MakeOptions, "baseUrl" | "checker" | "checkerBaseUrl" | "maxCost"> {
  /** provider/model; null: patterns write. */
  readonly writer: string | null;
}

/** Without a checker of its own, a model checks what it wrote itself. */
export async function openModels(
  options: ModelChoice,
  spending: ModelSpending,
  context: AppContext,
): Promise<OpenedModels> {
  const maxCostUsd = options.maxCost ?? null;
  const open = (model: string, baseUrl: string | undefined, baseUrlFlag: string, throttle: RateLimiter | null) =>
    openQuestionModel({ model, baseUrl, baseUrlFlag, maxCostUsd, throttle }, spending, context);
  const writer = options.writer === null ? null : await open(options.writer, options.baseUrl, "--base-url", null);
  const { checker: id } = options;
  if (id === "off") return { writer: writer?.model ?? null, checker: null };
  if (id === undefined) {
    return {
      writer: writer?.model ?? null,
      checker: writer === null ? null : await openChecker(writer, spending, context),
    };
  }
  const { writer: writerId, checkerBaseUrl, baseUrl } = options;
  const isShared =
    writerId !== null && isSameAccount({ model: id, baseUrl: checkerBaseUrl }, { model: writerId, baseUrl });
  const checking = await open(id, checkerBaseUrl, "--checker-base-url", isShared ? (writer?.throttle ?? null) : null);
  return { writer: writer?.model ?? null, checker: await openChecker(checking, spending, context) };
}
