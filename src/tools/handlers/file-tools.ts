// Handlers of the tools for files and Python, in the task's machine or, without one, in its workspace.
import { z } from "zod";
import { chooseSandbox } from "../../sandbox/choose-sandbox.js";
import { PYTHON_LIMITS, WORKSPACE_LIMITS } from "../../sandbox/limits.js";
import { type PythonRun, runPython, type StopReason } from "../../sandbox/run-python.js";
import { listEntries, readText, type WorkspaceFolders, WorkspaceRefusal, writeText } from "../../sandbox/workspace.js";
import type { TaskDocuments } from "../../tasks/suite-task.js";
import { counted } from "../../text/format.js";
import { toolError } from "../mailbox.js";
import type { ToolContext, ToolResult } from "../tool.js";
import { defineHandler } from "../tool-handler.js";
import {
  inRunningMachine,
  listMachineFolder,
  onMachine,
  readMachineText,
  runMachinePython,
  writeMachineText,
} from "./machine-tools.js";

/**
 * Creates or replaces a text file in the task's machine or, if it has none, in its workspace. Result: `{path, bytes}`.
 */
export const writeFile = defineHandler({
  args: z.object({ path: z.string(), content: z.string() }),
  config: z.strictObject({}),
  call: ({ path, content }, context) =>
    context.machine === undefined
      ? inWorkspace(context, async (folders) => toWriteResult(path, await writeText(folders, path, content)))
      : onMachine(context, async (machine) =>
          toWriteResult(path, await writeMachineText(machine, path, content, context.signal)),
        ),
});

function toWriteResult(path: string, bytes: number): ToolResult {
  return { ok: true, value: { path, bytes } };
}

/**
 * Searches the suite's documents or opens one of them. A search returns `{documents: [{path, offset, snippet,
 * match}]}`, and an opened document is `{path, content, offset, length, next_offset}`.
 */
export const searchDocuments = defineHandler({
  args: z.object({
    query: z.string().optional(),
    path: z.string().optional(),
    offset: z.number().int().min(0).default(0),
    limit: z.number().int().min(1).max(50).default(10),
  }),
  config: z.strictObject({}),
  call({ query, path, offset, limit }, { documents, signal }) {
    if (documents === undefined)
      return toolError("failed", "This task does not have documents. Continue without them.");
    if (path !== undefined) return openDocument(documents, path, offset, signal);
    if (query !== undefined) return search(documents, query, limit, signal);
    return toolError("bad_arguments", "Pass a query to search for, or the path of a document to open.");
  },
});

async function search(
  documents: TaskDocuments,
  query: string,
  limit: number,
  signal: AbortSignal,
): Promise<ToolResult> {
  const hits = await documents.search(query, limit, signal);
  return { ok: true, value: { documents: hits.map((hit) => ({ ...hit })) } };
}

async function openDocument(
  documents: TaskDocuments,
  path: string,
  from: number,
  signal: AbortSignal,
): Promise<ToolResult> {
  const page = await documents.read(path, from, signal);
  if (page === null) {
    return toolError("bad_arguments", `Unknown document ${path}. Use a path from a search result unchanged.`);
  }
  const { content, offset, length, nextOffset } = page;
  if (offset > length) {
    return toolError("bad_arguments", `${path} has ${length} characters, so offset must be at most ${length}.`);
  }
  return { ok: true, value: { path: page.path, content, offset, length, next_offset: nextOffset } };
}

/** Maximum characters per line and per result. */
const LINE_LENGTH = 2_000;
const PAGE_LENGTH = 40_000;

/**
 * Returns a page of a text file in the task's machine or, if it has none, in its workspace. Each line starts with its
 * number and a tab. Result: `{path, content, first_line, last_line, total_lines, next_offset}`. `next_offset` is null
 * at the end of the file.
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
    return toolError(
      "bad_arguments",
      `${path} has ${counted(lines.length, "line")}, so offset must be at most ${Math.max(lines.length, 1)}.`,
    );
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

/** More entries would fill a model's context with file names. */
const MAX_ENTRIES = 200;

/**
 * Lists everything below a folder of the task's machine or, if it has none, of its workspace. Result: `{files: [{path,
 * type, size}], total}`. In a machine, paths are relative to the additional field `folder`. `total` can be larger than
 * the number of listed files.
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

/**
 * Runs a program in the task's machine or, if it has none, in the sandbox with the task's workspace. Result: `{stdout,
 * stderr, exit_code, timed_out, truncated}`. If the program was stopped, `stopped` contains the reason and `exit_code`
 * is null. A failed program is a result, not an error.
 */
export const executePython = defineHandler({
  args: z.object({ code: z.string() }),
  config: z.strictObject({}),
  async call({ code }, context, { python = chooseSandbox }) {
    const { workspace, signal } = context;
    if (context.machine !== undefined) {
      return inRunningMachine(context, (machine) => runMachinePython(machine, code, signal));
    }
    if (workspace === undefined) return toolError("failed", NO_WORKSPACE);
    const choice = await python();
    if (!choice.ok) {
      return toolError(
        "failed",
        `Python is unsupported on this machine (${choice.why}). Continue without it. ${choice.hint}`,
      );
    }
    try {
      return { ok: true, value: toResult(await runPython(choice.sandbox, code, workspace, signal)) };
    } catch (error) {
      // An aborted task must reject with its abort reason.
      signal.throwIfAborted();
      return toolError("failed", `The sandbox did not start: ${(error as Error).message} Continue without it.`);
    }
  },
});

function toResult({ stdout, stderr, exitCode, stopped, truncated }: PythonRun) {
  return {
    stdout,
    stderr,
    exit_code: exitCode,
    timed_out: stopped === "time",
    truncated,
    ...(stopped === null ? {} : { stopped: REASONS[stopped] }),
  };
}

const megabytes = (bytes: number) => `${bytes / 2 ** 20} MB`;

const REASONS: Readonly<Record<StopReason, string>> = {
  time: `Stopped after ${PYTHON_LIMITS.wallMs / 1_000} seconds. Do less in one call.`,
  output: `Stopped: it printed more than ${megabytes(PYTHON_LIMITS.printedBytes)}. Print less.`,
  memory: `Stopped: it used more than ${megabytes(PYTHON_LIMITS.memoryBytes)} of memory.`,
  disk: `Stopped: it wrote more than ${megabytes(PYTHON_LIMITS.writtenBytes)}.`,
  workspace: `Stopped: the workspace exceeded its maximum of ${megabytes(WORKSPACE_LIMITS.bytes)} and ${WORKSPACE_LIMITS.files} files. It was emptied.`,
};

/** Runs a file tool in the task's workspace. Errors that the agent can fix become error results. */
async function inWorkspace(
  { workspace }: ToolContext,
  work: (folders: WorkspaceFolders) => Promise<ToolResult>,
): Promise<ToolResult> {
  if (workspace === undefined) return toolError("failed", NO_WORKSPACE);
  try {
    return await workspace.use(work);
  } catch (error) {
    if (error instanceof WorkspaceRefusal) return toolError("bad_arguments", error.message);
    throw error;
  }
}

const NO_WORKSPACE = "This task does not have a workspace. Continue without files.";
