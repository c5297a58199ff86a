import { z } from "zod";
import { listEntries } from "../../sandbox/workspace/workspace-files.js";
import { defineHandler } from "../tool-handler.js";
import { inWorkspace } from "./with-workspace.js";

/** More would fill a model's context with names. */
const MAX_ENTRIES = 200;

/** Everything below a folder. Result: `{files: [{path, type, size}], total}`; `total` may be more than are listed. */
export const listFiles = defineHandler({
  args: z.object({ path: z.string().default(".") }),
  config: z.strictObject({}),
  call: ({ path }, context) =>
    inWorkspace(context, async (folders) => {
      const { entries, total } = await listEntries(folders, path, MAX_ENTRIES);
      return { ok: true, value: { files: entries.map(({ path, type, size }) => ({ path, type, size })), total } };
    }),
});
