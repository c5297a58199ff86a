import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { UserError } from "../../domain/errors.js";
import { trimEndOf } from "../../domain/trim-end.js";
import { removeDownload } from "../../platform/download/download-cache.js";
import { type DownloadHints, withDownloadHint } from "../../platform/download/download-errors.js";
import { downloadFile } from "../../platform/download/download-file.js";
import { authorization, getJson } from "../../platform/download/http-get.js";
import type { RequestFailed } from "../../platform/download/request-failed.js";
import { parseServerUrl } from "../../platform/http/http-url.js";
import { DEFAULT_RETRY } from "../../platform/retry.js";
import { megabytes } from "../../reports/text/format-number.js";
import { programVersion } from "../settings/program-version.js";
import type { AppContext } from "../use-case-context.js";
import { type CorpusDescription, corpusDescriptionSchema, type SnapshotFile } from "./snapshot-description.js";
import { unpackSnapshot } from "./unpack-snapshot.js";

/** A server of mail (art-e serve). */
export interface CorpusServer {
  readonly url: string;
  /** Null: it needs none. */
  readonly token: string | null;
}

/** How often to ask whether the snapshot is ready. */
const ASK_EVERY_MS = 1_000;

/**
 * Has the mail of a server in a database of the cache folder, and returns its path. It is downloaded once; an
 * interrupted download goes on. Throws a UserError where it cannot be had.
 */
export async function fetchCorpus({ url: text, token }: CorpusServer, context: AppContext): Promise<string> {
  const url = parseServerUrl(text);
  if (url === null) {
    throw new UserError(
      "flag_invalid",
      "--fetch-corpus: expected the address of art-e serve, such as https://mail.example:8787.",
      "A token is not part of it: set ART_E_TOKEN, or give --token-file.",
    );
  }
  const base = trimEndOf(url.href, "/");
  const headers = authorization(token);
  const source = `the mail of ${url.host}`;
  const snapshot = await withDownloadHint(source, HINTS, () => askUntilReady(base, headers, context));
  const name = `${snapshot.fingerprint.slice(0, 16)}-v${programVersion()}.db`;
  const target = join(context.settings.cacheDir, "corpus", name);
  if (existsSync(target)) return target;
  const packed = `${target}.gz`;
  const progress = context.progress(`Fetching ${source}`);
  try {
    await downloadFile({
      url: `${base}/api/corpus/${snapshot.fingerprint}/snapshot`,
      headers,
      target: packed,
      revision: snapshot.fingerprint,
      expectedSize: snapshot.bytes,
      expectedSha256: snapshot.sha256,
      onProgress: (done, total) => progress.update(done, total, `${megabytes(done)} of ${megabytes(snapshot.bytes)}`),
      signal: context.signal,
      hints: HINTS,
    });
  } finally {
    progress.stop();
  }
  await unpackSnapshot(packed, target, snapshot, context.signal);
  await removeDownload(packed);
  context.note(`art-e: ${source} is in ${target}.`);
  return target;
}

async function askUntilReady(
  base: string,
  headers: Record<string, string>,
  { note, signal }: AppContext,
): Promise<SnapshotFile> {
  let isFirst = true;
  for (;;) {
    const { value } = await getJson(`${base}/api/corpus`, headers, corpusDescriptionSchema, DEFAULT_RETRY, signal);
    checkVersion(value);
    if (value.snapshot !== null) return value.snapshot;
    if (isFirst) note("art-e: the server makes a snapshot of its mail (half a minute for each GB): waiting for it.");
    isFirst = false;
    await delay(ASK_EVERY_MS, undefined, { signal });
  }
}

function checkVersion({ version }: CorpusDescription): void {
  if (version === programVersion()) return;
  throw new UserError(
    "version_mismatch",
    `--fetch-corpus: the server is art-e ${version}, and this is ${programVersion()}.`,
    "Install the same version on both.",
    1,
  );
}

const HINTS: DownloadHints = {
  manual: "Or copy the server's database here and give it with --db.",
  of({ status, retryable }: RequestFailed): string {
    if (status === 401) return "Set ART_E_TOKEN (or give --token-file) to the server's token.";
    if (status === 404) return "See that art-e serve runs at that address, and that its database has mail.";
    return retryable
      ? "See that art-e serve runs there, and start the worker again: a download goes on where it stopped."
      : "See that the address is that of art-e serve, and that nothing stands in between.";
  },
};
