import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import type { Judge } from "../../../domain/scores/judgement.js";
import { findHostPython } from "../../../sandbox/host-python.js";
import { isScorerName } from "../../../scoring/scorers.js";
import type { AttachedTool } from "../../../store/registry/tool-rows.js";
import { toTool } from "../../../tools/load-tools.js";
import type { ToolResources } from "../../../tools/tool-handler.js";
import { NO_EVALS } from "../../evals/evals-as-scorers.js";
import type { Scoring } from "../../score/score-trace.js";
import type { CreatedModel } from "../create-model.js";
import { agentOf } from "../plan/stored-settings.js";
import { warnOfOtherModel } from "../warn-of-other-model.js";
import type { AnswerContext } from "./answer-context.js";

/** What the answers of a run depend on. */
export interface AnswerContextParts extends Pick<AnswerContext, "runId" | "suite" | "backend" | "onActivity"> {
  readonly settings: RunSettings;
  readonly model: CreatedModel;
  readonly tools: readonly AttachedTool[];
  readonly judge: Judge | null;
}

/** The resources of a run's tools. */
export function resourcesOf(settings: RunSettings, shared: ToolResources): ToolResources {
  return settings.unsafeHostPython ? { ...shared, python: findHostPython } : shared;
}

export function scoringOf(
  settings: RunSettings,
  { mailbox }: Pick<ToolResources, "mailbox">,
  { judge, evals }: Pick<Scoring, "judge" | "evals">,
): Scoring {
  return {
    sameMail: (id) => mailbox.mails.canonicalId(id),
    scorers: settings.scorers.filter(isScorerName),
    evals,
    judge,
  };
}

/** Throws a UserError where a tool cannot be used. */
export function buildAnswerContext(
  { runId, settings, model, tools, suite, judge, backend, onActivity }: AnswerContextParts,
  resources: ToolResources,
  note: (text: string) => void,
): AnswerContext {
  return {
    runId,
    agent: agentOf(settings),
    model: warnOfOtherModel(model.model, note),
    tools: tools.map((tool) => toTool(tool, resources)),
    suite,
    taskTimeoutMs: settings.taskTimeoutMs,
    maxTaskCostUsd: settings.maxTaskCostUsd,
    // Evals run when answers are saved.
    scoring: scoringOf(settings, resources, { judge, evals: NO_EVALS }),
    backend,
    onActivity,
  };
}
