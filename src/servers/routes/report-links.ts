import { randomBytes } from "node:crypto";
import type { Hono } from "hono";
import { z } from "zod";
import { collectReport } from "../../app/results/collect-report.js";
import { storedRun } from "../../app/results/report-runs.js";
import { htmlReport } from "../../reports/html/html-report.js";
import { packedTrace } from "../../reports/html/packed-trace.js";
import { readPageAssets } from "../../reports/html/page-assets.js";
import { getRun } from "../../store/runs/runs.js";
import { ApiError } from "../http/api-error.js";
import { defineRoute, type Env, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";

/** A new tab cannot send a token, so the link itself is the secret; it expires soon. */
const LINK_LIFETIME_MS = 5 * 60_000;

/** Conversations are embedded up to so many bytes. */
const MAX_TRACE_BYTES = 5_000_000;

const PREFIX = "/report/";

interface Link {
  readonly runIds: readonly string[];
  readonly expiresAt: number;
}

/** Links to the report pages of runs: a request with the token makes a link, which opens without it. */
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
          "A link to the report of a run as a page, compared with others; it works for five minutes, without a token",
        query: z.object({
          with: z
            .string()
            .max(1_000)
            .default("")
            .transform((ids) => ids.split(",").filter((id) => id !== ""))
            .describe("Ids of runs to compare with it, separated by commas"),
        }),
        status: 201,
        response: z.strictObject({ url: z.string() }),
        handle: ({ params, query }) => {
          const ids = [params.id, ...query.with].map((id) => getRun(this.services.db, id).id);
          return { url: this.make([...new Set(ids)]) };
        },
      }),
    ];
  }

  addPage(app: Hono<Env>): void {
    app.get(`${PREFIX}:key`, async (c) => {
      const link = this.links.get(c.req.param("key"));
      if (link === undefined || link.expiresAt < Date.now()) {
        throw new ApiError("NOT_FOUND", "This link to a report has run out. Ask for another in the playground.");
      }
      // The page contains its own content security policy, with the hashes of its scripts.
      return c.body(await this.report(link.runIds, c.req.raw.signal), 200, {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
      });
    });
  }

  private make(runIds: readonly string[]): string {
    const now = Date.now();
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

/** Needs no token: the rest of the path is a secret. */
export function isReport(path: string): boolean {
  return path.startsWith(PREFIX);
}
