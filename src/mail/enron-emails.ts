// Downloads the Enron corpus from the hub.
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { commandLine } from "../platform/command-line.js";
import { downloadFile, type OnProgress, readJson, withDownloadHint } from "../platform/download.js";
import { replaceFile } from "../platform/files.js";
import { authorization, RequestFailed } from "../platform/http.js";
import {
  datasetPage,
  fileUrl,
  type Hub,
  hubFileSchema,
  hubHints,
  listFolder,
  resolveRevision,
} from "../platform/huggingface.js";

export const EMAILS_DATASET = "corbt/enron-emails";

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
  const listing = await listFolder(hub, EMAILS_DATASET, commit, "data", signal);
  const files = listing.filter((file) => SHARD.test(file.path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const announced = Number(SHARD.exec(files[0]?.path ?? "")?.[1] ?? 0);
  if (files.length === 0 || files.length !== announced) {
    throw new RequestFailed(`data/ lists ${files.length} of ${announced} shards of the mail`, { retryable: false });
  }
  const pin: Pin = { dataset: EMAILS_DATASET, branch: "main", commit, files };
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, [`${JSON.stringify(pin, null, 2)}\n`]);
  return pin;
}
