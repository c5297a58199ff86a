import { PROTOCOL, type RunManifest } from "../../queue/messages.js";
import { parseQueueUrl } from "../../queue/queue-url.js";
import { connectRedis } from "../../queue/redis-connection.js";
import { hasTrace } from "../../store/runs/traces.js";
import type { AnswererOfRun } from "../run/answer/task-answerer.js";
import type { RunOptions } from "../run/plan/run-options.js";
import type { RunPlan } from "../run/plan/run-plan.js";
import { JudgeShortfall } from "../score/judge-shortfall.js";
import { programVersion } from "../settings/program-version.js";
import { identifySuite } from "../suites/suite-digest.js";
import type { AppContext } from "../use-case-context.js";
import { checkQueueRun } from "./check-queue-run.js";
import { DispatchedTasks } from "./dispatched-tasks.js";
import { lostConnectionNotes } from "./note-lost-connection.js";

/**
 * Tasks on the queue, at most: what the workers go on with while the coordinator is away. More would only be memory of
 * Redis.
 */
const TASKS_AHEAD = 5_000;

/** Answers the tasks of a run by the workers of a queue. Throws a UserError where the queue cannot be used. */
export async function queueAnswerer(
  plan: RunPlan,
  url: string,
  options: RunOptions,
  { note }: AppContext,
): Promise<AnswererOfRun> {
  checkQueueRun(plan);
  const address = parseQueueUrl(url);
  const redis = await connectRedis(address, lostConnectionNotes(address, note));
  const manifest = manifestOf(plan, options);
  let tasks: DispatchedTasks | null = null;
  const shortfall = new JudgeShortfall();
  return {
    activity: {
      throttle: null,
      workers: () => tasks?.watch.state() ?? { workers: [], active: 0, waitingFor: null },
    },
    onConcurrency: (listener) => listener(TASKS_AHEAD),
    shortfall: () => (plan.settings.judge === null ? null : shortfall.text(plan.settings.judge.model)),
    async start({ db, budget, mayStart }) {
      tasks = new DispatchedTasks({
        redis,
        manifest,
        limits: plan.limits,
        isSaved: (traceId) => hasTrace(db, traceId),
        budget,
        mayStart,
        onTrace: ({ judge }) => judge !== null && shortfall.add(judge),
        note,
      });
      return tasks;
    },
    async close() {
      await tasks?.close();
      redis.disconnect();
    },
  };
}

function manifestOf({ runId, settings, tools, over }: RunPlan, options: RunOptions): RunManifest {
  const suite = over.split === "suite" ? identifySuite(over.dataset.source) : null;
  const { requestTimeout, rpm = null, tpm = null, cache } = options;
  return {
    protocol: PROTOCOL,
    runId,
    programVersion: programVersion(),
    corpusFingerprint: suite === null || suite.hasMail ? over.corpusFingerprint : "",
    suite: suite === null ? null : { name: suite.name, digest: suite.digest },
    settings,
    tools: tools.map(({ tool, config }) => {
      const { id, name, description, parametersSchema, handlerKey, handlerConfig, category } = tool;
      return { tool: { id, name, description, parametersSchema, handlerKey, handlerConfig, category }, config };
    }),
    requests: { timeoutMs: requestTimeout * 1_000, rpm, tpm, cache },
  };
}
