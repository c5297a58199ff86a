import type { DownloadHints } from "../platform/download/download-errors.js";
import type { RequestFailed } from "../platform/download/request-failed.js";

/** What to do about a failed download from the hub. `manual`: a sentence, how to do without it. */
export function hubHints(manual: string): DownloadHints {
  return { manual, of: hintFor };
}

function hintFor(error: RequestFailed): string {
  if (error.status === 401 || error.status === 403) return "Set HF_TOKEN to a token that may read it.";
  if (error.status === 404) return "Check the revision, and HF_ENDPOINT if it is set.";
  if (error.status === 429) return "Too many requests: wait some minutes and run it again (HF_TOKEN raises the limit).";
  if (!error.retryable) return "Check HF_ENDPOINT if it is set, and whether a proxy stands in between.";
  return "Check the connection and run it again; a file is continued where it stopped.";
}
