import { EXIT, UserError } from "../../domain/errors.js";
import { RequestFailed } from "./request-failed.js";

/** What the user can do about a failed download. */
export interface DownloadHints {
  /** A sentence: how to do without it. */
  readonly manual: string;
  /** A sentence about one failure. */
  of(error: RequestFailed): string;
}

/**
 * Runs a download. Its final error becomes a `UserError`; aborts and unexpected errors pass unchanged.
 * @param what the address or name of the download
 */
export async function withDownloadHint<T>(what: string, hints: DownloadHints, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RequestFailed) {
      const message = `could not download ${what}: ${error.message}`;
      throw new UserError("download_failed", message, `${hints.of(error)} ${hints.manual}`, EXIT.failed, {
        cause: error,
      });
    }
    if (isFileSystemError(error)) {
      const message = `could not use the cache folder: ${error.syscall} ${error.path ?? ""} failed with ${error.code}`;
      const hint = `Free some space or choose another folder with --cache-dir. ${hints.manual}`;
      throw new UserError("cache_unusable", message, hint, EXIT.failed, { cause: error });
    }
    throw error;
  }
}

/** Node's file system errors name the failed call; socket errors are always wrapped. */
function isFileSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "code" in error;
}
