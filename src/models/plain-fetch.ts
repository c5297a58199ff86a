import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { Agent, type Dispatcher, request } from "undici";
import { ModelError } from "../domain/model.js";
import { boundedBody, MAX_BYTES, refuseTooLarge } from "./bounded-body.js";

/** What a request needs; everything else an SDK would add comes from environment variables nobody handed in. */
const ALLOWED = new Set(["accept", "anthropic-version", "authorization", "content-type", "user-agent", "x-api-key"]);

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

const BYTE_ORDER_MARK = 0xfeff;

/** As many connections as there are calls under way. Calls have a deadline of their own, so there is none here. */
const connections = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });

const DECODERS: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/**
 * A fetch for SDKs, as far as they use one: a JSON body there, the whole body back. It lets only the headers of a plain request
 * through: ANTHROPIC_CUSTOM_HEADERS and OPENAI_CUSTOM_HEADERS, meant for other programs and other servers, cannot be
 * switched off in the SDKs. Made of undici's `request`, which takes a third of the time of its `fetch`: the platform's
 * spends most of it on streams that nobody reads piece by piece here.
 */
export const plainFetch: Fetch = async (input, init = {}) => {
  const headers: Record<string, string> = {};
  for (const [name, value] of new Headers(init.headers)) if (ALLOWED.has(name)) headers[name] = value;
  const url = input instanceof Request ? input.url : input;
  const reply = await request(url, {
    dispatcher: connections,
    method: (init.method ?? "GET") as Dispatcher.HttpMethod,
    headers,
    body: (init.body ?? null) as string | null,
    signal: init.signal ?? null,
  });
  // Rare enough to leave the rules of it, which headers may follow whom, to the platform.
  if (reply.statusCode >= 300 && reply.statusCode < 400 && reply.headers.location !== undefined) {
    await reply.body.dump();
    return boundedBody(await fetch(url, { ...init, headers }));
  }
  return new WholeReply(String(url), reply) as unknown as Response;
};

/** The members of a Response that the SDKs read. */
class WholeReply {
  readonly status: number;
  readonly statusText = "";
  readonly ok: boolean;
  readonly headers: Headers;
  /** For those who would cancel it: it is read whole or not at all. */
  readonly body = null;

  constructor(
    readonly url: string,
    private readonly reply: Dispatcher.ResponseData,
  ) {
    this.status = reply.statusCode;
    this.ok = reply.statusCode >= 200 && reply.statusCode < 300;
    this.headers = new Headers();
    for (const [name, value] of Object.entries(reply.headers)) {
      for (const one of Array.isArray(value) ? value : [value ?? ""]) this.headers.append(name, one);
    }
  }

  async text(): Promise<string> {
    const bytes = await this.bytes();
    // Asked for uncompressed; some proxies compress all the same.
    const decode = DECODERS[this.headers.get("content-encoding")?.trim().toLowerCase() ?? ""];
    const text = (decode === undefined ? bytes : await unpacked(decode, bytes)).toString("utf8");
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
  }

  private async bytes(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of this.reply.body as AsyncIterable<Buffer>) {
      length += chunk.length;
      refuseTooLarge(length);
      chunks.push(chunk);
    }
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

async function unpacked(decode: (typeof DECODERS)[string], bytes: Buffer): Promise<Buffer> {
  try {
    return await decode(bytes, { maxOutputLength: MAX_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") refuseTooLarge(MAX_BYTES + 1);
    throw new ModelError("protocol", "the reply cannot be unpacked, or was cut off", { retryable: true });
  }
}
