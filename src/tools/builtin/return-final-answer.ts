import { z } from "zod";
import { defineHandler } from "../tool-handler.js";

/** Ends the agent's loop. */
export const returnFinalAnswer = defineHandler({
  args: z.object({ answer: z.string(), sources: z.array(z.string()).default([]) }),
  config: z.strictObject({}),
  call({ answer, sources }) {
    return { ok: true, value: { accepted: true }, final: { answer, sources } };
  },
});
