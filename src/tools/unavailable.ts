import { z } from "zod";
import { defineHandler } from "./handler.js";
import { refuse } from "./mailbox.js";

/** Stands for the tools whose sandbox is not built yet: the model is told, and can go on without. */
export const unavailable = defineHandler({
  args: z.unknown(),
  config: z.strictObject({}),
  call: () => refuse("failed", "This tool is not available yet. Go on without it."),
});
