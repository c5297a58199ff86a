import { z } from "zod";
import { writeText } from "../../sandbox/workspace/workspace-files.js";
import { defineHandler } from "../tool-handler.js";
import { inWorkspace } from "./with-workspace.js";

/** Makes or replaces a text file. Result: `{path, bytes}`. */
export const writeFile = defineHandler({
  args: z.object({ path: z.string(), content: z.string() }),
  config: z.strictObject({}),
  call: ({ path, content }, context) =>
    inWorkspace(context, async (folders) => ({
      ok: true,
      value: { path, bytes: await writeText(folders, path, content) },
    })),
});
