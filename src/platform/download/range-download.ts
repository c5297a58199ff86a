import { open } from "node:fs/promises";
import { get, withNetworkErrors } from "./http-get.js";
import type { PartialDownload } from "./partial-download.js";
import { RequestFailed } from "./request-failed.js";

/** Bytes so far and in total; null where the total is not known. */
export type OnProgress = (bytes: number, total: number | null) => void;

export interface RangeRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly expectedSize?: number | undefined;
  readonly onProgress?: OnProgress | undefined;
  readonly signal: AbortSignal;
}

/** Offset of the body in the file, and the file size if the server sent it. */
interface Extent {
  readonly start: number;
  readonly total: number | null;
}

/** An attempt that brings so much counts as progress and resets the failure count. */
const PROGRESS_BYTES = 1 << 20;

/**
 * One request for the rest of a partial file (RFC 9110: Range with If-Range), or for all of it. Bytes received before
 * an error stay in the partial file. Resolves to true where bytes of an earlier attempt were reused.
 * @throws RequestFailed
 */
export async function downloadRange(request: RangeRequest, partial: PartialDownload): Promise<boolean> {
  const { size, etag } = await partial.state();
  const resume = size > 0 && etag !== null ? { from: size, etag } : { from: 0, etag: null };
  const range = resume.etag === null ? {} : { range: `bytes=${resume.from}-`, "if-range": resume.etag };
  // With compression, Content-Length and ranges would not refer to the bytes of the file.
  const headers = { ...request.headers, ...range, "accept-encoding": "identity" };
  const response = await get(request.url, headers, request.signal);
  const body = response.body?.getReader();
  try {
    const extent = readExtent(response, resume);
    if (extent === "already whole") return true;
    if (extent === "unusable") {
      await partial.restart(null);
      throw new RequestFailed("the server sent another part of the file than the one asked for", { retryable: true });
    }
    const total = extent.total ?? request.expectedSize ?? null;
    if (request.expectedSize !== undefined && total !== request.expectedSize) {
      throw wrongSize(`${total}`, request.expectedSize);
    }
    if (extent.start === 0) await partial.restart(strongEtag(response));
    await append(request, partial.bytesPath, body, { start: extent.start, total });
    return extent.start > 0;
  } finally {
    await body?.cancel().catch(() => undefined);
  }
}

/** RFC 9110 sections 14.4, 15.3.7 and 15.5.17. */
function readExtent(
  response: Response,
  resume: { from: number; etag: string | null },
): Extent | "already whole" | "unusable" {
  const contentRange = response.headers.get("content-range") ?? "";
  if (response.status === 416) return contentRange === `bytes */${resume.from}` ? "already whole" : "unusable";
  if (response.status === 206) {
    const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(contentRange);
    const etag = strongEtag(response);
    // Some servers support Range but not If-Range: the part may be of a newer file.
    if (range === null || Number(range[1]) !== resume.from || (etag !== null && etag !== resume.etag))
      return "unusable";
    return { start: resume.from, total: range[2] === "*" ? null : Number(range[2]) };
  }
  const length = response.headers.get("content-length");
  const encoded = (response.headers.get("content-encoding") ?? "identity") !== "identity";
  return { start: 0, total: length === null || encoded ? null : Number(length) };
}

async function append(
  request: RangeRequest,
  path: string,
  body: ReadableStreamDefaultReader<Uint8Array> | undefined,
  { start, total }: Extent,
): Promise<void> {
  const file = await open(path, "a");
  let size = start;
  const cutOff = (reason: string, cause?: unknown) =>
    new RequestFailed(`the transfer stopped after ${size} of ${total ?? "an unknown number of"} bytes${reason}`, {
      retryable: true,
      progressed: size - start >= PROGRESS_BYTES,
      cause,
    });
  try {
    request.onProgress?.(size, total);
    for (;;) {
      const next = await withNetworkErrors(async () => body?.read(), request.signal);
      if (next === undefined || next.done) break;
      await file.appendFile(next.value);
      size += next.value.byteLength;
      if (total !== null && size > total) throw wrongSize(`more than ${total}`, total);
      request.onProgress?.(size, total);
    }
    await file.sync();
  } catch (error) {
    if (error instanceof RequestFailed && error.retryable) throw cutOff(`: ${error.message}`, error);
    throw error;
  } finally {
    await file.close();
  }
  if (total !== null && size < total) throw cutOff("");
}

export function wrongSize(size: string, expected: number): RequestFailed {
  return new RequestFailed(`the file has ${size} bytes, not ${expected}`, { retryable: false });
}

/** Null for weak ETags, which do not guarantee equal bytes. */
function strongEtag(response: Response): string | null {
  const etag = response.headers.get("etag");
  return etag === null || etag.startsWith("W/") ? null : etag;
}
