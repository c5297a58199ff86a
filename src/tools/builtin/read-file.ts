import { z } from "zod";
import type { ToolResult } from "../../domain/agents/tool.js";
import { readText } from "../../sandbox/workspace/workspace-files.js";
import { toolError } from "../open-mailbox.js";
import { defineHandler } from "../tool-handler.js";
import { readMachineText } from "./machine/machine-files.js";
import { onMachine } from "./machine/on-machine.js";
import { inWorkspace } from "./with-workspace.js";

/** Characters of one line, and of all lines of one result. */
const LINE_LENGTH = 2_000;
const PAGE_LENGTH = 40_000;

/**
 * A page of a text file of the task's machine, or else of its workspace, each line behind its number and a tab. Result:
 * `{path, content, first_line, last_line, total_lines, next_offset}`; `next_offset` null: the file ends here.
 */
export const readFile = defineHandler({
  args: z.object({
    path: z.string(),
    offset: z.number().int().min(1).default(1),
    limit: z.number().int().min(1).max(1_000).default(200),
  }),
  config: z.strictObject({}),
  call: ({ path, offset, limit }, context) =>
    context.machine === undefined
      ? inWorkspace(context, async (folders) => toPage(path, await readText(folders, path), offset, limit))
      : onMachine(context, async (machine) => toPage(path, await readMachineText(machine, path), offset, limit)),
});

function toPage(path: string, text: string, offset: number, limit: number): ToolResult {
  const lines = linesOf(text);
  if (offset > Math.max(lines.length, 1)) {
    return toolError("bad_arguments", `${path} has ${lines.length} lines: offset must not be beyond that.`);
  }
  const page = pageOf(lines, offset - 1, limit);
  const last = offset - 1 + page.length;
  return {
    ok: true,
    value: {
      path,
      content: page.join("\n"),
      first_line: page.length === 0 ? 0 : offset,
      last_line: last,
      total_lines: lines.length,
      next_offset: last < lines.length ? last + 1 : null,
    },
  };
}

/** A trailing line break does not start another line. */
function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function pageOf(lines: readonly string[], from: number, limit: number): string[] {
  const page: string[] = [];
  let length = 0;
  for (const [i, line] of lines.slice(from, from + limit).entries()) {
    const rest = line.length - LINE_LENGTH;
    const text = `${from + i + 1}\t${line.slice(0, LINE_LENGTH)}${rest > 0 ? `… (${rest} more characters)` : ""}`;
    length += text.length;
    if (page.length > 0 && length > PAGE_LENGTH) break;
    page.push(text);
  }
  return page;
}
