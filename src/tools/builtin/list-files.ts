import { z } from "zod";
import { listEntries } from "../../sandbox/workspace/workspace-files.js";
import { defineHandler } from "../tool-handler.js";
import { listMachineFolder } from "./machine/machine-files.js";
import { onMachine } from "./machine/on-machine.js";
import { inWorkspace } from "./with-workspace.js";

/** More would fill a model's context with names. */
const MAX_ENTRIES = 200;

/**
 * Everything below a folder of the task's machine, or else of its workspace. Result: `{files: [{path, type, size}],
 * total}`, with the `folder` that paths are relative to where it is a machine's; `total` may be more than are listed.
 */
export const listFiles = defineHandler({
  args: z.object({ path: z.string().default(".") }),
  config: z.strictObject({}),
  call: ({ path }, context) =>
    context.machine === undefined
      ? inWorkspace(context, async (folders) => {
          const { entries, total } = await listEntries(folders, path, MAX_ENTRIES);
          return { ok: true, value: { files: entries.map(({ path, type, size }) => ({ path, type, size })), total } };
        })
      : onMachine(context, async (machine) => {
          const { folder, entries, total } = await listMachineFolder(machine, path, MAX_ENTRIES, context.signal);
          return { ok: true, value: { folder, files: entries, total } };
        }),
});
