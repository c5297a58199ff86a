import { createReadStream } from "node:fs";
import { Readable } from "node:stream";

export interface FileToSend {
  readonly path: string;
  readonly bytes: number;
  readonly type: string;
  /** Strong: equal only for equal bytes. */
  readonly etag: string;
}

/** A file, or the rest of it where the request asks for that of the same file (RFC 9110: Range with If-Range). */
export function sendFile(
  { path, bytes, type, etag }: FileToSend,
  header: (name: string) => string | undefined,
): Response {
  const headers = { "content-type": type, etag, "accept-ranges": "bytes" };
  const start = askedStart(header, etag);
  if (start !== null && start >= bytes) {
    return new Response(null, { status: 416, headers: { ...headers, "content-range": `bytes */${bytes}` } });
  }
  const body = Readable.toWeb(createReadStream(path, { start: start ?? 0 })) as ReadableStream;
  const length = { "content-length": String(bytes - (start ?? 0)) };
  if (start === null) return new Response(body, { status: 200, headers: { ...headers, ...length } });
  const range = { "content-range": `bytes ${start}-${bytes - 1}/${bytes}` };
  return new Response(body, { status: 206, headers: { ...headers, ...length, ...range } });
}

/** Null: all of it. Of ranges only "from here to the end" is served; a server may answer others with all. */
function askedStart(header: (name: string) => string | undefined, etag: string): number | null {
  const [, start] = /^bytes=(\d+)-$/.exec(header("range") ?? "") ?? [];
  const condition = header("if-range");
  return start === undefined || (condition !== undefined && condition !== etag) ? null : Number(start);
}
