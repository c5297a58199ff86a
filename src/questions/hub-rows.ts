import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { QuestionSet, Split } from "../domain/tasks/question.js";
import { QUESTIONS_DATASET } from "../huggingface/dataset-names.js";
import { checkedEndpoint, DEFAULT_ENDPOINT, DEFAULT_ROWS_ENDPOINT, type Hub } from "../huggingface/hub.js";
import { type HubRequest, questionHints } from "../huggingface/hub-request.js";
import { replaceFile } from "../platform/atomic-file.js";
import { type CacheRecord, sha256Of, verifiedRecord, writeRecord } from "../platform/download/download-cache.js";
import { withDownloadHint } from "../platform/download/download-errors.js";
import { authorization, getJson } from "../platform/download/http-get.js";
import type { OnProgress } from "../platform/download/range-download.js";
import { RequestFailed } from "../platform/download/request-failed.js";
import { DEFAULT_RETRY } from "../platform/retry.js";
import { jsonLinesRows } from "./json-rows.js";
import { validateQuestions } from "./validate-questions.js";

/** Maximum of the API. */
const PAGE_ROWS = 100;

const pageSchema = z.object({
  rows: z.array(
    z.object({
      row_idx: z.number().int(),
      row: z.record(z.string(), z.unknown()),
      truncated_cells: z.array(z.string()).default([]),
    }),
  ),
  num_rows_total: z.number().int().nonnegative(),
  partial: z.boolean().default(false),
});

type Page = z.output<typeof pageSchema>;

/**
 * All questions of the JSON rows API, cached as JSON Lines. It serves the newest revision only, which is recorded.
 */
export async function loadHubRows(request: HubRequest, signal: AbortSignal): Promise<QuestionSet> {
  const { split, hub, cacheDir } = request;
  const file = join(cacheDir, QUESTIONS_DATASET, "rows-api", `${split}.jsonl`);
  const url = splitUrl(hub, split);
  const record = await withDownloadHint(url, questionHints(hub), async () => {
    const cached = await verifiedRecord(file, {}, signal);
    return cached ?? (await fetchAndCache(url, hub, file, request.onProgress, signal));
  });
  const rows = jsonLinesRows(await readFile(file, "utf8"));
  const checked = validateQuestions(rows, { name: file, wanted: split, unmarked: split });
  const source = `${QUESTIONS_DATASET}@${record.revision ?? "newest"} (rows API)`;
  return { source, revision: record.revision, sha256: record.sha256, ...checked };
}

function splitUrl(hub: Hub, split: Split): string {
  const endpoint = checkedEndpoint(hub.rowsEndpoint ?? DEFAULT_ROWS_ENDPOINT);
  return `${endpoint}/rows?${new URLSearchParams({ dataset: QUESTIONS_DATASET, config: "default", split })}`;
}

async function fetchAndCache(
  url: string,
  hub: Hub,
  file: string,
  onProgress: OnProgress | undefined,
  signal: AbortSignal,
): Promise<CacheRecord> {
  const { lines, revision } = await fetchAllRows(url, hub, onProgress, signal);
  const content = lines.join("");
  await mkdir(dirname(file), { recursive: true });
  const record: CacheRecord = {
    url,
    revision,
    size: Buffer.byteLength(content),
    sha256: sha256Of(content),
    etag: null,
    downloadedAt: new Date().toISOString(),
  };
  await writeRecord(file, record);
  await replaceFile(file, lines);
  return record;
}

async function fetchAllRows(
  url: string,
  hub: Hub,
  onProgress: OnProgress | undefined,
  signal: AbortSignal,
): Promise<{ lines: string[]; revision: string | null }> {
  const lines: string[] = [];
  let bytes = 0;
  let first: { total: number; revision: string | null } | null = null;
  do {
    const pageUrl = `${url}&offset=${lines.length}&length=${PAGE_ROWS}`;
    const page = await getJson(pageUrl, rowsHeaders(hub), pageSchema, hub.retry ?? DEFAULT_RETRY, signal);
    const revision = page.headers.get("x-revision");
    first ??= { total: page.value.num_rows_total, revision };
    if (page.value.num_rows_total !== first.total || revision !== first.revision) {
      throw new RequestFailed("the dataset changed while it was read", { retryable: true });
    }
    checkComplete(page.value, lines.length, first.total);
    for (const { row } of page.value.rows) {
      const line = `${JSON.stringify(row)}\n`;
      bytes += Buffer.byteLength(line);
      lines.push(line);
    }
    onProgress?.(bytes, null);
  } while (lines.length < first.total);
  return { lines, revision: first.revision };
}

/** The API truncates long cells and large datasets and reports it in these fields. */
function checkComplete({ rows, partial }: Page, offset: number, total: number): void {
  const fault = (message: string) => new RequestFailed(message, { retryable: false });
  if (total === 0) throw fault("the split has no rows");
  if (partial) throw fault("the rows API holds only a part of the dataset");
  if (rows.length === 0 && offset < total) throw fault(`no rows came from row ${offset} on, of ${total}`);
  rows.forEach(({ row_idx, truncated_cells }, i) => {
    if (row_idx !== offset + i) throw fault(`row ${row_idx} came where row ${offset + i} was to come`);
    if (truncated_cells.length > 0) throw fault(`row ${row_idx} came with cells cut short: ${truncated_cells}`);
  });
}

/** The token of a mirror is not sent to Hugging Face. */
function rowsHeaders(hub: Hub): Record<string, string> {
  const sameService = hub.rowsEndpoint !== undefined || checkedEndpoint(hub.endpoint) === DEFAULT_ENDPOINT;
  return authorization(sameService ? hub.token : null);
}
