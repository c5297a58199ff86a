import { z } from "zod";
import { toolError } from "../open-mailbox.js";
import { defineHandler } from "../tool-handler.js";

/** Puts in place what the run's oracle file has for the task. Result: what that was. */
export const applyOracle = defineHandler({
  args: z.object({}),
  config: z.strictObject({}),
  async call(_args, { oracle, signal }) {
    if (oracle === undefined) return toolError("failed", "This task has no oracle file. Go on without it.");
    const done = await oracle.apply(signal);
    return done.ok ? { ok: true, value: done.applied } : toolError("failed", done.reason);
  },
});
