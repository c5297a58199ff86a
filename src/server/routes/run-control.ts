// Routes to steer runs that this machine executes.
import { z } from "zod";
import { UserError } from "../../platform/errors.js";
import { type ControlRequest, controlCommandSchema, controlledRunSchema } from "../../runs/control-protocol.js";
import { controlStoredRun } from "../../runs/run-control.js";
import { getRun } from "../../traces/runs-store.js";
import { ApiError } from "../app/api-error.js";
import { defineRoute, type Route, type Services } from "../app/route.js";

/** Steering of runs that are executed on this machine, as by `art-e ctl`. */
export function runControlRoutes({ db, cacheDir }: Pick<Services, "db" | "cacheDir">): Route[] {
  const send = (id: string, request: ControlRequest) => controlStoredRun(getRun(db, id), request, cacheDir);
  const tag = "runs";
  return [
    defineRoute({
      method: "get",
      path: "/api/runs/:id/control",
      tag,
      summary: "Get the state of a run, without its text, or null if it is not running on this machine",
      status: 200,
      response: z.strictObject({ run: controlledRunSchema.nullable() }),
      async handle({ params }) {
        const nullIfNotRunning = (error: unknown) => {
          if (error instanceof UserError && error.code === "run_not_running") return { run: null };
          throw error;
        };
        const { run } = await send(params.id, { command: "show", showText: false }).catch(nullIfNotRunning);
        return { run };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/runs/:id/control",
      tag,
      summary: "Pause, resume or cancel a run, requeue its failed tasks, or set its limits",
      body: controlCommandSchema,
      status: 200,
      response: z.strictObject({ run: controlledRunSchema, message: z.string() }),
      async handle({ params, body }) {
        const throwConflict = (error: unknown) => {
          if (!(error instanceof UserError) || error.exitCode === 2) throw error;
          throw new ApiError("CONFLICT", error.message, { reason: error.code, hint: error.hint });
        };
        const { run, message } = await send(params.id, body).catch(throwConflict);
        return { run, message };
      },
    }),
  ];
}
