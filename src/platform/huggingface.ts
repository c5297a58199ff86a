// The API of the Hugging Face hub: revisions, folders and files of a dataset.
import { z } from "zod";
import type { DownloadHints } from "./download.js";
import { type Environment, isFromFile, keyFor, refuseStrangeAddress } from "./environment.js";
import { UserError } from "./errors.js";
import { authorization, getJson, parseHttpUrl, type RequestFailed } from "./http.js";
import { DEFAULT_RETRY, type RetryPolicy } from "./retry-delay.js";
import { trimEndOf } from "./trim-end.js";

export const DEFAULT_ENDPOINT = "https://huggingface.co";
export const DEFAULT_ROWS_ENDPOINT = "https://datasets-server.huggingface.co";

export interface Hub {
  readonly endpoint: string;
  /** Base URL of the JSON rows API, or undefined for Hugging Face's own. */
  readonly rowsEndpoint?: string | undefined;
  readonly token: string | null;
  readonly retry?: RetryPolicy | undefined;
}

/** A dataset file. `sha256` is null for files that are not in LFS. */
export const hubFileSchema = z.object({ path: z.string(), size: z.number().int(), sha256: z.string().nullable() });

type HubFile = z.output<typeof hubFileSchema>;

/**
 * Returns a valid hub URL without trailing slashes.
 * @throws UserError if the URL is not a plain http(s) URL
 */
export function checkedEndpoint(address: string): string {
  if (parseHttpUrl(address) === null) {
    throw new UserError(
      "endpoint_invalid",
      "Cannot use the hub's URL: expected a plain http or https URL.",
      `Set HF_ENDPOINT to a URL such as ${DEFAULT_ENDPOINT}, without a user name or password.`,
    );
  }
  return trimEndOf(address, "/");
}

export function datasetPage(hub: Hub, dataset: string): string {
  return `${checkedEndpoint(hub.endpoint)}/datasets/${dataset}`;
}

/** Returns the URL of a file's bytes. `revision` can contain slashes (`refs/convert/parquet`). */
export function fileUrl(hub: Hub, dataset: string, revision: string, path: string): string {
  return `${datasetPage(hub, dataset)}/resolve/${encodeURIComponent(revision)}/${path}`;
}

/** Returns the current commit of a branch or tag. A commit needs no request. */
export async function resolveRevision(
  hub: Hub,
  dataset: string,
  revision: string,
  signal: AbortSignal,
): Promise<string> {
  if (/^[0-9a-f]{40}$/.test(revision)) return revision;
  const schema = z.object({ sha: z.string().regex(/^[0-9a-f]{40}$/) });
  const { sha } = await askHub(hub, `${dataset}/revision/${encodeURIComponent(revision)}`, schema, signal);
  return sha;
}

async function askHub<T>(hub: Hub, path: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
  const url = `${checkedEndpoint(hub.endpoint)}/api/datasets/${path}`;
  const { value } = await getJson(url, authorization(hub.token), schema, hub.retry ?? DEFAULT_RETRY, signal);
  return value;
}

const treeSchema = z.array(
  z.object({
    type: z.string(),
    path: z.string(),
    size: z.number().int().nonnegative(),
    lfs: z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/) }).optional(),
  }),
);

/** Lists the files directly in a folder of a dataset at a commit. */
export async function listFolder(
  hub: Hub,
  dataset: string,
  commit: string,
  folder: string,
  signal: AbortSignal,
): Promise<HubFile[]> {
  const entries = await askHub(hub, `${dataset}/tree/${commit}/${folder}`, treeSchema, signal);
  return entries
    .filter((entry) => entry.type === "file")
    .map(({ path, size, lfs }) => ({ path, size, sha256: lfs?.oid ?? null }));
}

/** Returns hints for failed downloads from the hub. `manual` is a sentence that says how to do without the download. */
export function hubHints(manual: string): DownloadHints {
  return { manual, of: hintFor };
}

function hintFor(error: RequestFailed): string {
  if (error.status === 401 || error.status === 403) return "Set HF_TOKEN to a token with read access.";
  if (error.status === 404) return "Check the revision, and HF_ENDPOINT if it is set.";
  if (error.status === 429) return "Too many requests. Wait some minutes and try again (HF_TOKEN raises the limit).";
  if (!error.retryable) return "Check HF_ENDPOINT if it is set, and the proxy if you use one.";
  return "Check the connection and try again. The download continues where it stopped.";
}

const HUB = { url: "HF_ENDPOINT", keys: ["HF_TOKEN"], flag: "HF_ENDPOINT in the environment" };

const HUB_ROWS = { url: "HF_ROWS_ENDPOINT", keys: ["HF_TOKEN"], flag: "HF_ROWS_ENDPOINT in the environment" };

export function hubOf(env: Environment): Hub {
  const endpoint = env.HF_ENDPOINT || null;
  const rows = env.HF_ROWS_ENDPOINT || null;
  if (endpoint !== null) refuseStrangeAddress(HUB, endpoint, env);
  if (rows !== null) refuseStrangeAddress(HUB_ROWS, rows, env);
  // Both endpoints share one token. The token from `.env` applies if `.env` sets either endpoint.
  const token =
    rows !== null && isFromFile(env, HUB_ROWS.url, rows) ? keyFor(HUB_ROWS, rows, env) : keyFor(HUB, endpoint, env);
  return { endpoint: endpoint ?? DEFAULT_ENDPOINT, rowsEndpoint: rows ?? undefined, token };
}
