// Loads questions from a local file or from the published dataset on the Hugging Face Hub, which is cached.
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import {
  type CacheRecord,
  type DownloadHints,
  downloadFile,
  type OnProgress,
  verifiedRecord,
  withDownloadHint,
  writeRecord,
} from "../../platform/download.js";
import { messageOf, UserError } from "../../platform/errors.js";
import { replaceFile } from "../../platform/files.js";
import { authorization, getJson, RequestFailed } from "../../platform/http.js";
import {
  checkedEndpoint,
  DEFAULT_ENDPOINT,
  DEFAULT_ROWS_ENDPOINT,
  datasetPage,
  fileUrl,
  type Hub,
  hubHints,
  resolveRevision,
} from "../../platform/huggingface.js";
import { DEFAULT_RETRY } from "../../platform/retry-delay.js";
import { sha256Of } from "../../platform/sha256.js";
import { toWellFormedJson } from "../../platform/well-formed-json.js";
import type { QuestionSet, Split } from "../../tasks/question.js";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../published-dataset.js";
import { DEFAULT_SPLIT, jsonLinesRows, loadQuestionFile, parquetRows, validateQuestions } from "./dataset-files.js";

export interface QuestionRequest extends Omit<HubRequest, "split"> {
  /** If undefined, selects the only split in `dataset`, otherwise `test`. */
  readonly split: Split | undefined;
  /** Path of a local file, or null for the dataset on the hub. */
  readonly dataset: string | null;
  /** Whether to use the hub's JSON rows API instead of the Parquet file. */
  readonly useJson: boolean;
}

interface HubRequest {
  readonly split: Split;
  /** `revision` is a commit, branch or tag. A cached commit needs no network access. */
  readonly hub: Hub & { readonly revision: string };
  readonly cacheDir: string;
  readonly onProgress?: OnProgress | undefined;
}

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
 * Returns the validated questions of one split, in dataset order.
 * @throws UserError, or the signal's reason if it aborts
 */
export async function loadQuestions(request: QuestionRequest, signal: AbortSignal): Promise<QuestionSet> {
  if (request.dataset !== null) return loadQuestionFile(request.dataset, request.split, signal);
  const hubRequest = { ...request, split: request.split ?? DEFAULT_SPLIT };
  if (request.useJson) return loadHubRows(hubRequest, signal);

  return loadHubParquet(hubRequest, signal);
}

/** File sizes in bytes at `QUESTIONS_REVISION`. */
const SIZES: Readonly<Record<Split, number>> = { train: 7_954_326, test: 267_520 };

/** Loads questions from the dataset's Parquet file, cached in `<cacheDir>/<dataset>/<commit>/`. */
async function loadHubParquet(request: HubRequest, signal: AbortSignal): Promise<QuestionSet> {
  const { split, hub, cacheDir } = request;
  const hints = questionHints(hub);
  const revision = await withDownloadHint(`revision ${hub.revision} of ${QUESTIONS_DATASET}`, hints, () =>
    resolveRevision(hub, QUESTIONS_DATASET, hub.revision, signal),
  );
  const name = `${split}-00000-of-00001.parquet`;
  const target = join(cacheDir, QUESTIONS_DATASET, revision, name);
  const { sha256 } = await downloadFile({
    url: fileUrl(hub, QUESTIONS_DATASET, revision, `data/${name}`),
    headers: authorization(hub.token),
    target,
    revision,
    expectedSize: revision === QUESTIONS_REVISION ? SIZES[split] : undefined,
    magic: "PAR1",
    retry: hub.retry,
    onProgress: request.onProgress,
    signal,
    hints,
  });
  const rows = await parquetRows(await readFile(target)).catch((cause: unknown) => {
    const reason = messageOf(cause);
    throw new UserError("questions_unreadable", `Cannot read ${target}: ${reason}`, hints.manual, undefined, {
      cause,
    });
  });
  const checked = await validateQuestions(rows, { name: target, wanted: split, unmarked: split }, signal);
  return { source: `${QUESTIONS_DATASET}@${revision}`, revision, sha256, ...checked };
}

/** Maximum page size of the rows API. */
const PAGE_ROWS = 100;

/**
 * Loads all questions from the JSON rows API and caches them as JSON Lines. The API serves only the newest revision,
 * which is recorded.
 */
async function loadHubRows(request: HubRequest, signal: AbortSignal): Promise<QuestionSet> {
  const { split, hub, cacheDir } = request;
  const file = join(cacheDir, QUESTIONS_DATASET, "rows-api", `${split}.jsonl`);
  const url = splitUrl(hub, split);
  const record = await withDownloadHint(url, questionHints(hub), async () => {
    const cached = await verifiedRecord(file, {}, signal);
    return cached ?? (await fetchAndCache(url, hub, file, request.onProgress, signal));
  });
  const rows = jsonLinesRows(await readFile(file, "utf8"));
  const checked = await validateQuestions(rows, { name: file, wanted: split, unmarked: split }, signal);
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
      throw new RequestFailed("the dataset changed during the download", { retryable: true });
    }
    checkComplete(page.value, lines.length, first.total);
    for (const { row } of page.value.rows) {
      const line = `${toWellFormedJson(row)}\n`;
      bytes += Buffer.byteLength(line);
      lines.push(line);
    }
    onProgress?.(bytes, null);
  } while (lines.length < first.total);
  return { lines, revision: first.revision };
}

/**
 * Throws if the response is incomplete. The API truncates long cells and large datasets, and these fields report when
 * it does.
 */
function checkComplete({ rows, partial }: Page, offset: number, total: number): void {
  const fault = (message: string) => new RequestFailed(message, { retryable: false });
  if (total === 0) throw fault("the split is empty");
  if (partial) throw fault("the rows API returns only part of the dataset");
  if (rows.length === 0 && offset < total) throw fault(`expected rows from ${offset} to ${total}, got none`);
  rows.forEach(({ row_idx, truncated_cells }, i) => {
    if (row_idx !== offset + i) throw fault(`expected row ${offset + i}, got row ${row_idx}`);
    if (truncated_cells.length > 0) throw fault(`row ${row_idx} has truncated cells: ${truncated_cells}`);
  });
}

/** A token for a mirror is never sent to Hugging Face. */
function rowsHeaders(hub: Hub): Record<string, string> {
  const sameService = hub.rowsEndpoint !== undefined || checkedEndpoint(hub.endpoint) === DEFAULT_ENDPOINT;
  return authorization(sameService ? hub.token : null);
}

/** Hints for a failed download of the questions. */
function questionHints(hub: Hub): DownloadHints {
  return hubHints(
    `Or download the questions from ${datasetPage(hub, QUESTIONS_DATASET)} and pass the file with --dataset FILE.`,
  );
}
