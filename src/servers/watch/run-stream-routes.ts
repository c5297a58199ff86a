import { runProgressSchema } from "../../domain/runs/run-progress.js";
import { getRun } from "../../store/runs/runs.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import type { RunStreams } from "./run-streams.js";

export function runStreamRoutes({ db }: Pick<Services, "db">, streams: RunStreams): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/runs/:id/events",
      tag: "runs",
      summary: "How far a run has got: all of it at once, and again whenever something changes",
      status: 200,
      response: null,
      events: runProgressSchema,
      handle: ({ params, destroyConnection }) => streams.respond(getRun(db, params.id).id, destroyConnection),
    }),
  ];
}
