import { z } from "zod";
import { UserError } from "../domain/errors.js";
import { trimEndOf } from "../domain/trim-end.js";
import { authorization, getJson } from "../platform/download/http-get.js";
import { DEFAULT_RETRY, type RetryPolicy } from "../platform/retry.js";

export const DEFAULT_ENDPOINT = "https://huggingface.co";
export const DEFAULT_ROWS_ENDPOINT = "https://datasets-server.huggingface.co";

/** The Hugging Face hub or a mirror of it. */
export interface Hub {
  readonly endpoint: string;
  /** Base of the JSON rows API; Hugging Face's own where undefined. */
  readonly rowsEndpoint?: string | undefined;
  readonly token: string | null;
  readonly retry?: RetryPolicy | undefined;
}

/** @throws UserError where the address is no plain http(s) address. */
export function checkedEndpoint(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new UserError(
      "endpoint_invalid",
      "the hub's address is not a plain http or https address",
      `Set HF_ENDPOINT to an address such as ${DEFAULT_ENDPOINT}, without a name or password in it.`,
    );
  }
  return trimEndOf(address, "/");
}

export function datasetPage(hub: Hub, dataset: string): string {
  return `${checkedEndpoint(hub.endpoint)}/datasets/${dataset}`;
}

/** Address of a file's bytes. `revision` may hold slashes (`refs/convert/parquet`). */
export function fileUrl(hub: Hub, dataset: string, revision: string, path: string): string {
  return `${datasetPage(hub, dataset)}/resolve/${encodeURIComponent(revision)}/${path}`;
}

/** The current commit of a branch or tag; a commit needs no request. */
export async function resolveRevision(
  hub: Hub,
  dataset: string,
  revision: string,
  signal: AbortSignal,
): Promise<string> {
  if (/^[0-9a-f]{40}$/.test(revision)) return revision;
  const url = `${checkedEndpoint(hub.endpoint)}/api/datasets/${dataset}/revision/${encodeURIComponent(revision)}`;
  const schema = z.object({ sha: z.string().regex(/^[0-9a-f]{40}$/) });
  const { value } = await getJson(url, authorization(hub.token), schema, hub.retry ?? DEFAULT_RETRY, signal);
  return value.sha;
}

/** A file of a dataset. `sha256` is null for files that are not in LFS. */
export interface HubFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string | null;
}

const treeSchema = z.array(
  z.object({
    type: z.string(),
    path: z.string(),
    size: z.number().int().nonnegative(),
    lfs: z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/) }).optional(),
  }),
);

/** The files directly in a folder of a dataset at a commit. */
export async function listFolder(
  hub: Hub,
  dataset: string,
  commit: string,
  folder: string,
  signal: AbortSignal,
): Promise<HubFile[]> {
  const url = `${checkedEndpoint(hub.endpoint)}/api/datasets/${dataset}/tree/${commit}/${folder}`;
  const { value } = await getJson(url, authorization(hub.token), treeSchema, hub.retry ?? DEFAULT_RETRY, signal);
  return value
    .filter((entry) => entry.type === "file")
    .map(({ path, size, lfs }) => ({ path, size, sha256: lfs?.oid ?? null }));
}
