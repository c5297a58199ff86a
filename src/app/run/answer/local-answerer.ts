import type { Db } from "../../../store/connection/open-store.js";
import { openExternalResources } from "../../../tools/external/external-connections.js";
import type { SearchPool } from "../../../tools/search-pool/search-pool.js";
import { createRunJudge } from "../../score/create-judge.js";
import type { AppContext } from "../../use-case-context.js";
import { ServerWatch } from "../detect-dead-server.js";
import type { OpenAgentTarget } from "../open-agent-target.js";
import type { RunOptions } from "../plan/run-options.js";
import type { RunPlan } from "../plan/run-plan.js";
import { buildAnswerContext, resourcesOf } from "./build-answer-context.js";
import { type AnswererOfRun, answerHere } from "./task-answerer.js";

/** Answers the tasks of a run in this process. Throws a UserError where the judge has no key. */
export async function localAnswerer(
  { db, searchThreads }: { readonly db: Db; readonly searchThreads: SearchPool | undefined },
  plan: RunPlan,
  options: RunOptions,
  { settings, note }: AppContext,
): Promise<AnswererOfRun> {
  const { runId, model, tools, suite } = plan;
  const judge = await createRunJudge(plan.settings, model, options.requestTimeout * 1_000, settings, note);
  const outside = openExternalResources(settings.env);
  let target: OpenAgentTarget | null = null;
  return {
    activity: { throttle: model.throttle },
    onConcurrency: model.onConcurrency,
    shortfall: () => judge?.shortfall() ?? null,
    async start({ mailbox, onActivity }) {
      const resources = resourcesOf(plan.settings, { mailbox, searchThreads, outside });
      if (plan.settings.elsewhere !== undefined) {
        const { openAgentTarget } = await import("../open-agent-target.js");
        const how = { model, options, settings, resources };
        target = await openAgentTarget(db, plan.settings.elsewhere, plan.settings, how);
      }
      const parts = { runId, settings: plan.settings, model, tools, suite, judge: judge?.judge ?? null };
      const context = buildAnswerContext({ ...parts, backend: target?.backend, onActivity }, resources, note);
      return answerHere(context, new ServerWatch());
    },
    close: async () => void (await Promise.all([outside.close(), target?.close()])),
  };
}
