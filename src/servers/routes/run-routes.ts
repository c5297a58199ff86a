import { z } from "zod";
import { computeRunTotals } from "../../app/results/compute-run-totals.js";
import { taskIdSchema } from "../../domain/tasks/task-id.js";
import { pageOfResults } from "../../store/runs/results.js";
import { getRun, listRuns } from "../../store/runs/runs.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";

const runLineShape = z.strictObject({
  id: z.string(),
  agent_id: z.string(),
  model: z.string(),
  status: z.enum(["running", "completed", "interrupted"]),
  tasks: z.number().int().meta({ description: "Answered so far" }),
  total_tasks: z.number().int(),
  started_at: z.string(),
});

export function runRoutes({ db }: Services): Route[] {
  const tag = "runs";
  return [
    defineRoute({
      method: "get",
      path: "/api/runs",
      tag,
      summary: "All runs, newest first",
      status: 200,
      response: z.strictObject({ runs: z.array(runLineShape) }),
      handle: () => ({
        runs: listRuns(db).map(({ agentId, totalTasks, startedAt, ...same }) => ({
          ...same,
          agent_id: agentId,
          total_tasks: totalTasks,
          started_at: startedAt,
        })),
      }),
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:id",
      tag,
      summary: "The totals of a run, in the words of the results file; latest is the newest",
      status: 200,
      response: z.looseObject({ runId: z.string(), agentId: z.string(), totalTasks: z.number().int() }),
      async handle({ params }) {
        const run = getRun(db, params.id);
        const totals = await computeRunTotals(db, run);
        return { ...totals, askedTasks: run.totalTasks, settings: run.settings };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:id/results",
      tag,
      summary: "The task results of a run, by task, in the words of the results file",
      query: z.object({
        limit: z.coerce.number().int().min(1).max(200).default(50),
        offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
      }),
      status: 200,
      response: z.strictObject({
        taskResults: z.array(z.looseObject({ taskId: taskIdSchema, traceId: z.string() })),
        has_more: z.boolean(),
        total_count: z.number().int(),
      }),
      handle({ params, query }) {
        const { results, total } = pageOfResults(db, getRun(db, params.id).id, query.offset, query.limit);
        return { taskResults: results, has_more: query.offset + results.length < total, total_count: total };
      },
    }),
  ];
}
