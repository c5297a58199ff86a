import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { commandLine } from "./command-line.js";
import { type DownloadHints, downloadFile, type OnProgress, readJson, withDownloadHint } from "./download.js";
import { UserError } from "./errors.js";
import { replaceFile } from "./files.js";
import { authorization, getJson, parseHttpUrl, RequestFailed } from "./http.js";
import { DEFAULT_RETRY, type RetryPolicy } from "./retry-delay.js";
import { trimEndOf } from "./strings.js";

export const DEFAULT_ENDPOINT = "https://huggingface.co";
export const DEFAULT_ROWS_ENDPOINT = "https://datasets-server.huggingface.co";

export interface Hub {
  readonly endpoint: string;
  /** Base URL of the JSON rows API, or undefined for Hugging Face's own. */
  readonly rowsEndpoint?: string | undefined;
  readonly token: string | null;
  readonly retry?: RetryPolicy | undefined;
}

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

/** A dataset file. `sha256` is null for files that are not in LFS. */
const hubFileSchema = z.object({ path: z.string(), size: z.number().int(), sha256: z.string().nullable() });

type HubFile = z.output<typeof hubFileSchema>;

const treeSchema = z.array(
  z.object({
    type: z.string(),
    path: z.string(),
    size: z.number().int().nonnegative(),
    lfs: z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/) }).optional(),
  }),
);

/** Lists the files directly in a folder of a dataset at a commit. */
async function listFolder(
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

export const QUESTIONS_DATASET = "corbt/enron_emails_sample_questions";
export const EMAILS_DATASET = "corbt/enron-emails";

/** A fixed commit, because an older revision of the questions had a train set 12 times smaller. */
export const QUESTIONS_REVISION = "abc84674cefc28ca4bf2cd3f0f0c9c860d690d70";

/** Matches `data/train-00000-of-00003.parquet`. */
const SHARD = /^data\/train-\d{5}-of-(\d{5})\.parquet$/;

/** Schema of the pin: the commit of `main` at the start of the download, and its files. */
const pinSchema = z.object({
  dataset: z.literal(EMAILS_DATASET),
  branch: z.literal("main"),
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  files: z.array(hubFileSchema).min(1),
});

type Pin = z.output<typeof pinSchema>;

/**
 * Downloads and verifies the shards of the mail corpus, in order, until the downloaded ones `suffice`. Resolves the
 * commit of `main` once and stores it in `<cacheDir>/corbt/enron-emails/main.json`; delete that file to get a newer
 * one. Progress counts all shards, including cached ones.
 * @returns the folder of the shards (`*.parquet`, each with its record `*.parquet.json`), named after the commit
 * @throws UserError, or the signal's reason if it aborts
 */
export async function downloadEnronEmails(
  hub: Hub,
  cacheDir: string,
  signal: AbortSignal,
  onProgress?: OnProgress,
  suffice?: (newest: string) => Promise<boolean>,
): Promise<string> {
  const page = datasetPage(hub, EMAILS_DATASET);
  const hints = hubHints(
    `Or download the files under data/ from ${page} into a folder and run: ${commandLine`art-e import FOLDER`}`,
  );
  const pinPath = join(cacheDir, EMAILS_DATASET, "main.json");
  const pin =
    (await readJson(pinPath, pinSchema)) ??
    (await withDownloadHint(page, hints, () => createPin(hub, pinPath, signal)));
  const folder = join(cacheDir, EMAILS_DATASET, pin.commit);
  const total = pin.files.reduce((sum, file) => sum + file.size, 0);
  let done = 0;
  for (const { path, size, sha256 } of pin.files) {
    const before = done;
    const target = join(folder, basename(path));
    await downloadFile({
      url: fileUrl(hub, EMAILS_DATASET, pin.commit, path),
      headers: authorization(hub.token),
      target,
      revision: pin.commit,
      expectedSize: size,
      expectedSha256: sha256 ?? undefined,
      magic: "PAR1",
      retry: hub.retry,
      onProgress: (bytes) => onProgress?.(before + bytes, total),
      signal,
      hints,
    });
    done += size;
    onProgress?.(done, total);
    if (await suffice?.(target)) break;
  }
  return folder;
}

async function createPin(hub: Hub, path: string, signal: AbortSignal): Promise<Pin> {
  const commit = await resolveRevision(hub, EMAILS_DATASET, "main", signal);
  const listed = await listFolder(hub, EMAILS_DATASET, commit, "data", signal);
  const files = listed.filter((file) => SHARD.test(file.path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const announced = Number(SHARD.exec(files[0]?.path ?? "")?.[1] ?? 0);
  if (files.length === 0 || files.length !== announced) {
    throw new RequestFailed(`data/ lists ${files.length} of ${announced} shards of the mail`, { retryable: false });
  }
  const pin: Pin = { dataset: EMAILS_DATASET, branch: "main", commit, files };
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, [`${JSON.stringify(pin, null, 2)}\n`]);
  return pin;
}
