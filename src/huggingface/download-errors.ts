import { EXIT, UserError } from "../domain/errors.js";
import { RequestFailed } from "./request-failed.js";

/**
 * Runs a download. Its final error becomes a `UserError`; aborts and unexpected errors pass unchanged.
 * @param what the address or name of the download
 * @param manualHint a sentence: how to do without the download
 */
export async function withDownloadHint<T>(what: string, manualHint: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestFailed) {
      const message = `could not download ${what}: ${error.message}`;
      throw new UserError("download_failed", message, `${hintFor(error)} ${manualHint}`, EXIT.failed, { cause: error });
    }
    if (isFileSystemError(error)) {
      const message = `could not use the cache folder: ${error.syscall} ${error.path ?? ""} failed with ${error.code}`;
      const hint = `Free some space or choose another folder with --cache-dir. ${manualHint}`;
      throw new UserError("cache_unusable", message, hint, EXIT.failed, { cause: error });
    }
    throw error;
  }
}

function hintFor(error: RequestFailed): string {
  if (error.status === 401 || error.status === 403) return "Set HF_TOKEN to a token that may read it.";
  if (error.status === 404) return "Check the revision, and HF_ENDPOINT if it is set.";
  if (error.status === 429) return "Too many requests: wait some minutes and run it again (HF_TOKEN raises the limit).";
  if (!error.retryable) return "Check HF_ENDPOINT if it is set, and whether a proxy stands in between.";
  return "Check the connection and run it again; a file is continued where it stopped.";
}

/** Node's file system errors name the failed call; socket errors are always wrapped. */
function isFileSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "code" in error;
}
