// Routes for runs, and for their report pages with links that need no token.
import { randomBytes } from "node:crypto";
import type { Hono } from "hono";
import { z } from "zod";
import { htmlReport, packedTrace, readPageAssets } from "../../reports/html-report.js";
import { collectReport, storedRun, storedTraceView } from "../../results/collect-report.js";
import { computeRunTotals } from "../../results/results-file.js";
import { SCORES } from "../../scoring/scorers.js";
import { parseListQuery } from "../../store/list-query.js";
import type { Db } from "../../store/open-store.js";
import { HEADLINE_SCORERS, type HeadlineScorer } from "../../traces/headline-score.js";
import { RUN_FIELDS } from "../../traces/list-fields.js";
import { pageOfResults, type ResultInRun, resultsOfTask } from "../../traces/results-store.js";
import type { SummarizedRun } from "../../traces/run-list.js";
import { getRun, type RunRow } from "../../traces/runs-store.js";
import { getTrace, taskIdOf } from "../../traces/traces-store.js";
import { ApiError } from "../app/api-error.js";
import { defineRoute, type Env, offsetQuery, type Route, type Services, searchQuery } from "../app/route.js";
import { resultPageShape, runPageShape, sameTaskShape, snakeKeys } from "../response-shapes.js";

interface Link {
  readonly runIds: readonly string[];
  readonly expiresAt: number;
}

const listQuery = z.strictObject({ ...searchQuery(RUN_FIELDS), ...offsetQuery });

function runLine({ activeMs, headline, ...run }: SummarizedRun) {
  const score = headline && { ...headline, label: SCORES[headline.scorer]?.label ?? headline.scorer };
  return { ...snakeKeys(run), score, duration_ms: activeMs };
}

const comparedRuns = z
  .string()
  .max(1_000)
  .default("")
  .transform((ids) => ids.split(",").filter((id) => id !== ""))
  .describe("Ids of runs to compare, separated by commas");

function distinctRuns(db: Db, names: readonly string[]): RunRow[] {
  return [...new Map(names.map((name) => getRun(db, name)).map((run) => [run.id, run])).values()];
}

export function runRoutes({ db, lists }: Pick<Services, "db" | "lists">): Route[] {
  const tag = "runs";
  return [
    defineRoute({
      method: "get",
      path: "/api/runs",
      tag,
      summary: "List runs with their figures, newest first or sorted",
      query: listQuery,
      status: 200,
      response: runPageShape,
      async handle({ query: { q, ...page } }) {
        const { runs, total } = await lists.read("runs", { terms: parseListQuery(q, RUN_FIELDS), ...page });
        return { runs: runs.map(runLine), has_more: page.offset + runs.length < total, total_count: total };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:id",
      tag,
      summary:
        "Get the totals of a run with the field names of the results file (latest is the newest run with a result)",
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
      summary: "List the task results of a run with the field names of the results file",
      query: z.object(offsetQuery),
      status: 200,
      response: resultPageShape,
      handle({ params, query }) {
        const { results, total } = pageOfResults(db, getRun(db, params.id).id, query.offset, query.limit);
        return { taskResults: results, has_more: query.offset + results.length < total, total_count: total };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:id/report",
      tag,
      summary: "Get the data of a run's report page, compared with other runs",
      query: z.object({ with: comparedRuns }),
      status: 200,
      response: z.strictObject({ head: z.looseObject({}), tasks: z.looseObject({}) }),
      async handle({ params, query }) {
        const runs = distinctRuns(db, [params.id, ...query.with]).map(({ id }) => id);
        return new Response(await lists.read("report", { runs }), { headers: { "content-type": "application/json" } });
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:id/same-task",
      tag,
      summary: "List the answers to a task of a run in all runs over the same questions, newest run first",
      query: z.object({ task_id: z.string().min(1) }),
      status: 200,
      response: sameTaskShape,
      handle: ({ params, query }) => sameTaskJson(db, getRun(db, params.id).id, query.task_id),
    }),
    defineRoute({
      method: "get",
      path: "/api/runs/:id/conversation",
      tag,
      summary: "Get the conversation of a task with the gold emails, as in the run's report page",
      query: z.object({
        task_id: z.string().min(1),
        epoch: z.coerce.number().int().min(1).default(1),
      }),
      status: 200,
      response: z.looseObject({ traceId: z.string() }),
      handle({ params, query }) {
        const run = getRun(db, params.id);
        const trace = getTrace(db, `${run.id}/${query.task_id}/${query.epoch}`);
        if (trace.kind === "chat") throw new ApiError("NOT_FOUND", "This trace belongs to a chat.");
        return { ...storedTraceView(db, trace) };
      },
    }),
  ];
}

/** All answers have the score that represents the run itself, if it has one for the task. */
function sameTaskJson(db: Db, runId: string, taskId: string) {
  const found = resultsOfTask(db, runId, taskIdOf(taskId));
  const has = (scorer: HeadlineScorer, among: readonly ResultInRun[]) =>
    among.some(({ result }) => (result.scores[scorer] ?? null) !== null);
  const own = found.filter((each) => each.runId === runId);
  const scorer = [own, found].flatMap((among) => HEADLINE_SCORERS.find((each) => has(each, among)) ?? [])[0] ?? null;
  return {
    score_label: scorer && (SCORES[scorer]?.label ?? scorer),
    answers: found.map(({ result, ...run }) => ({
      ...snakeKeys(run),
      ending: result.ending,
      answer: result.agentAnswer === "" ? null : result.agentAnswer,
      score: scorer && (result.scores[scorer] ?? null),
    })),
  };
}

/** A new tab cannot send a token, so the link itself is the secret and soon expires. */
const LINK_LIFETIME_MS = 5 * 60_000;

/** Maximum bytes of conversations to embed. */
const MAX_TRACE_BYTES = 5_000_000;

const PREFIX = "/report/";

/** Links to the report pages of runs. A request with the token creates a link, which opens without the token. */
export class ReportLinks {
  private readonly links = new Map<string, Link>();

  constructor(private readonly services: Services) {}

  routes(): Route[] {
    return [
      defineRoute({
        method: "post",
        path: "/api/runs/:id/report",
        tag: "runs",
        summary:
          "Create a link to the report page of a run, compared with others (valid for five minutes, without a token)",
        query: z.object({ with: comparedRuns }),
        status: 201,
        response: z.strictObject({ url: z.string() }),
        handle: ({ params, query }) => {
          const runs = distinctRuns(this.services.db, [params.id, ...query.with]);
          return { url: this.make(runs.map(({ id }) => id)) };
        },
      }),
    ];
  }

  addPage(app: Hono<Env>): void {
    app.get(`${PREFIX}:key`, async (c) => {
      const link = this.links.get(c.req.param("key"));
      if (link === undefined || link.expiresAt < performance.now()) {
        throw new ApiError("NOT_FOUND", "This report link has expired. Open the report again in the playground.");
      }
      // The page contains its own content security policy, with the hashes of its scripts.
      return c.body(await this.report(link.runIds, c.req.raw.signal), 200, {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
      });
    });
  }

  private make(runIds: readonly string[]): string {
    const now = performance.now();
    for (const [key, { expiresAt }] of this.links) if (expiresAt < now) this.links.delete(key);
    const key = randomBytes(24).toString("base64url");
    this.links.set(key, { runIds, expiresAt: now + LINK_LIFETIME_MS });
    return PREFIX + key;
  }

  private async report(runIds: readonly string[], signal: AbortSignal): Promise<string> {
    const { db } = this.services;
    const traces: [key: string, packed: string][] = [];
    let bytes = 0;
    const add = (key: string, packed: string) => {
      bytes += packed.length;
      if (bytes > MAX_TRACE_BYTES) traces.length = 0;
      else traces.push([key, packed]);
    };
    const report = await collectReport(
      await Promise.all(runIds.map((id) => storedRun(db, getRun(db, id)))),
      {
        onTask: () => undefined,
        onTrace: (key, view) => bytes > MAX_TRACE_BYTES || add(key, packedTrace(view())),
      },
      signal,
    );
    const kind = traces.length === 0 ? "none" : "embed";
    const page = { ...report, head: { ...report.head, traces: { kind } } } as const;
    return [...htmlReport(page, readPageAssets(), traces)].join("");
  }
}

/** Reports need no token, because the rest of the path is secret. */
export function isReport(path: string): boolean {
  return path.startsWith(PREFIX);
}
