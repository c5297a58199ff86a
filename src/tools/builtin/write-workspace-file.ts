import { z } from "zod";
import type { ToolResult } from "../../domain/agents/tool.js";
import { writeText } from "../../sandbox/workspace/workspace-files.js";
import { defineHandler } from "../tool-handler.js";
import { writeMachineText } from "./machine/machine-files.js";
import { onMachine } from "./machine/on-machine.js";
import { inWorkspace } from "./with-workspace.js";

/** Makes or replaces a text file of the task's machine, or else of its workspace. Result: `{path, bytes}`. */
export const writeFile = defineHandler({
  args: z.object({ path: z.string(), content: z.string() }),
  config: z.strictObject({}),
  call: ({ path, content }, context) =>
    context.machine === undefined
      ? inWorkspace(context, async (folders) => toResult(path, await writeText(folders, path, content)))
      : onMachine(context, async (machine) =>
          toResult(path, await writeMachineText(machine, path, content, context.signal)),
        ),
});

function toResult(path: string, bytes: number): ToolResult {
  return { ok: true, value: { path, bytes } };
}
