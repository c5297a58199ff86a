import { z } from "zod";
import { computeRunTotals } from "../../app/results/compute-run-totals.js";
import { runStatusSchema } from "../../domain/runs/run-status.js";
import { taskIdSchema } from "../../domain/tasks/task-id.js";
import { type ListedRun, pageOfRuns } from "../../store/runs/list-runs.js";
import { pageOfResults } from "../../store/runs/results.js";
import { getRun } from "../../store/runs/runs.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";

const runLineShape = z.strictObject({
  id: z.string(),
  name: z.string().nullable(),
  note: z.string().nullable(),
  tags: z.array(z.string()).readonly(),
  agent_id: z.string(),
  model: z.string(),
  dataset: z.string(),
  split: z.string(),
  status: runStatusSchema,
  tasks: z.number().int().meta({ description: "Answered so far" }),
  completed_tasks: z.number().int().meta({ description: "Those of them that did not fail" }),
  total_tasks: z.number().int(),
  started_at: z.string(),
});

const day = z.iso.date("expected a day, YYYY-MM-DD");

const listQuery = z.object({
  agent_id: z.string().optional(),
  model: z.string().optional().meta({ description: "Part of the model's name" }),
  dataset: z.string().optional().meta({ description: "Part of the dataset's name or path" }),
  status: runStatusSchema.optional(),
  tag: z.string().optional(),
  text: z.string().optional().meta({ description: "Part of the run's name or note" }),
  since: day.optional().meta({ description: "Started on this day (UTC) or later" }),
  before: day.optional().meta({ description: "Started before this day (UTC)" }),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
});

function runLine({ agentId, completedTasks, totalTasks, startedAt, ...same }: ListedRun) {
  return {
    ...same,
    agent_id: agentId,
    completed_tasks: completedTasks,
    total_tasks: totalTasks,
    started_at: startedAt,
  };
}

export function runRoutes({ db }: Pick<Services, "db">): Route[] {
  const tag = "runs";
  return [
    defineRoute({
      method: "get",
      path: "/api/runs",
      tag,
      summary: "Runs, newest first",
      query: listQuery,
      status: 200,
      response: z.strictObject({ runs: z.array(runLineShape), has_more: z.boolean(), total_count: z.number().int() }),
      handle({ query: { limit, offset, agent_id: agent, ...filter } }) {
        const { runs, total } = pageOfRuns(db, { ...filter, agent }, offset, limit);
        return { runs: runs.map(runLine), has_more: offset + runs.length < total, total_count: total };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:id",
      tag,
      summary: "The totals of a run, in the words of the results file; latest is the newest that has completed a task",
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
