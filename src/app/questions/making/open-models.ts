import type { Model } from "../../../domain/models/model.js";
import type { Checker } from "../../../questions/checks/checker.js";
import type { AppContext } from "../../use-case-context.js";
import { type MakeOptions, PATTERNS_MODEL } from "./make-options.js";
import type { Spending } from "./metered-model.js";
import { openChecker } from "./open-checker.js";
import { openQuestionModel, type QuestionModel } from "./open-question-model.js";

/** The models that make and check questions; null: patterns make them, rules alone check them. */
export interface OpenedModels {
  readonly writer: Model | null;
  readonly checker: Checker | null;
}

type ModelChoice = Pick<MakeOptions, "model" | "baseUrl" | "checker" | "checkerBaseUrl" | "maxCost">;

/** Without a checker of its own, a model checks what it wrote itself. */
export async function openModels(options: ModelChoice, spending: Spending, context: AppContext): Promise<OpenedModels> {
  const maxCostUsd = options.maxCost ?? null;
  const open = (model: string, baseUrl: string | undefined, baseUrlFlag: string, throttle: QuestionModel["throttle"]) =>
    openQuestionModel({ model, baseUrl, baseUrlFlag, maxCostUsd, throttle }, spending, context);
  const writer =
    options.model === PATTERNS_MODEL ? null : await open(options.model, options.baseUrl, "--base-url", null);
  const { checker: id } = options;
  if (id === "off") return { writer: writer?.model ?? null, checker: null };
  if (id === undefined) {
    return {
      writer: writer?.model ?? null,
      checker: writer === null ? null : await openChecker(writer, spending, context),
    };
  }
  const isSameAccount = providerOf(id) === providerOf(options.model) && options.checkerBaseUrl === options.baseUrl;
  const checking = await open(
    id,
    options.checkerBaseUrl,
    "--checker-base-url",
    isSameAccount ? (writer?.throttle ?? null) : null,
  );
  return { writer: writer?.model ?? null, checker: await openChecker(checking, spending, context) };
}

function providerOf(model: string): string | undefined {
  return model.split("/")[0];
}
