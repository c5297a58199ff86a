import { z } from "zod";
import type { ToolResult } from "../../domain/agents/tool.js";
import type { TaskDocuments } from "../../domain/tasks/task-documents.js";
import { toolError } from "../open-mailbox.js";
import { defineHandler } from "../tool-handler.js";

/**
 * Searches the suite's documents, or opens one of them. Results: `{documents: [{path, offset, snippet, match}]}`, or
 * `{path, content, offset, length, next_offset}`.
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
    if (documents === undefined) return toolError("failed", "This task has no documents. Go on without them.");
    if (path !== undefined) return openDocument(documents, path, offset, signal);
    if (query !== undefined) return search(documents, query, limit, signal);
    return toolError("bad_arguments", "Give a query to search for, or the path of a document to open.");
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
    return toolError("bad_arguments", `There is no document ${path}. Give the path of a search result as it stands.`);
  }
  const { content, offset, length, nextOffset } = page;
  if (offset > length) {
    return toolError("bad_arguments", `${path} has ${length} characters: offset must not be beyond that.`);
  }
  return { ok: true, value: { path: page.path, content, offset, length, next_offset: nextOffset } };
}
