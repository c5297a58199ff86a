import { lookup as systemLookup } from "node:dns";
import { isIP, isIPv6, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { Agent, type Dispatcher, EnvHttpProxyAgent, fetch, Pool } from "undici";
import { proxySettings } from "./proxies.js";

/** IPv4-compatible IPv6 addresses (RFC 4291, deprecated), which ipaddr.js does not classify. */
const IPV4_COMPATIBLE = ipaddr.IPv6.parseCIDR("::/96");

/**
 * Whether an IP address, in the form of a resolver, is on the public internet: not private, loopback, link-local (such
 * as cloud metadata), reserved, or an IPv6 address that embeds an IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || !parsed.match(IPV4_COMPATIBLE);
}

export interface WebRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly maxBytes: number;
  /** Whether an IP address may be contacted. */
  readonly allows: (address: string) => boolean;
  readonly lookup?: LookupFunction | undefined;
}

interface WebAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** The request was not made, or its answer cannot be used; the message says why and holds no header. */
class WebRequestFailed extends Error {
  override readonly name = "WebRequestFailed";
}

const MAX_REDIRECTS = 5;

/** What a request to another origin is not given: they were meant for the first. */
const OWN_HEADERS = new Set(["accept", "accept-language", "user-agent", "content-type"]);

/**
 * One request, following redirects. Each address is checked after DNS resolution and then connected to itself, so
 * that a name cannot resolve differently for the check and the connection (DNS rebinding).
 */
export async function guardedRequest(request: WebRequest, signal: AbortSignal): Promise<WebAnswer> {
  const dispatcher = openGuarded(request);
  try {
    return await follow(request, dispatcher, signal);
  } finally {
    await dispatcher.destroy();
  }
}

function openGuarded(request: WebRequest): Dispatcher {
  const lookup = guardedLookup(request);
  const options = {
    connect: { lookup, timeout: 30_000 },
    maxResponseSize: request.maxBytes * 2,
    keepAliveTimeout: 1,
  };
  const proxies = proxySettings();
  if (proxies === null) return new Agent(options);
  // A proxy resolves names by itself, so it is asked for a tunnel to the checked address instead.
  class AddressTunnels extends Pool {
    override async connect(to: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
      const { hostname, port } = new URL(`http://${to.path}`);
      const address = await resolveChecked(hostname.replace(/^\[|\]$/g, ""), lookup);
      const path = `${isIPv6(address) ? `[${address}]` : address}:${port || "80"}`;
      return super.connect({ ...to, path });
    }
  }
  const clientFactory = (origin: URL, pool: object) => new AddressTunnels(origin, { ...pool, connections: 1 });
  return new EnvHttpProxyAgent({ ...options, ...proxies, clientFactory } as EnvHttpProxyAgent.Options);
}

function resolveChecked(hostname: string, lookup: LookupFunction): Promise<string> {
  if (isIP(hostname) !== 0) return Promise.resolve(hostname);
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: false }, (error, address) => (error === null ? resolve(String(address)) : reject(error)));
  });
}

async function follow(request: WebRequest, dispatcher: Dispatcher, signal: AbortSignal): Promise<WebAnswer> {
  let url = new URL(request.url);
  let { method, headers, body } = request;
  for (let redirects = 0; ; redirects++) {
    checkUrl(url, request);
    const response = await fetch(url, { method, headers, body, dispatcher, signal, redirect: "manual" }).catch(
      (error: unknown) => {
        throw networkFault(error, url, signal);
      },
    );
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) {
      return {
        status: response.status,
        contentType: response.headers.get("content-type") ?? "",
        text: await readText(response.body, request.maxBytes, url, signal),
      };
    }
    await response.body?.cancel();
    if (redirects === MAX_REDIRECTS)
      throw new WebRequestFailed(`${url.host} redirects more than ${MAX_REDIRECTS} times`);
    const next = URL.parse(location, url.href);
    if (next === null) throw new WebRequestFailed(`${url.host} redirects to an address that cannot be read`);
    if (response.status === 303 || (response.status < 303 && method === "POST")) [method, body] = ["GET", null];
    if (next.origin !== url.origin) {
      headers = Object.fromEntries(Object.entries(headers).filter(([name]) => OWN_HEADERS.has(name.toLowerCase())));
      if (body !== null)
        throw new WebRequestFailed(`${url.host} redirects to ${next.host}, which is not sent the arguments`);
    }
    url = next;
  }
}

/** Names are checked when resolved; an IP address in the URL is never resolved, so it is checked here. */
function checkUrl(url: URL, { allows }: WebRequest): void {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new WebRequestFailed(`${url.protocol} addresses are not asked: only http and https`);
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !allows(host)) throw notPublic(host);
}

function guardedLookup({ allows, lookup = systemLookup as LookupFunction }: WebRequest): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "");
      const addresses = (Array.isArray(found) ? found : [{ address: found, family: isIP(found) }]).filter(
        ({ address }) => isIP(address) !== 0,
      );
      const [first] = addresses;
      // One blocked address among allowed ones rejects all: a sign of an attack.
      const bad = addresses.find(({ address }) => !allows(address));
      if (bad !== undefined || first === undefined) return callback(notPublic(hostname), "");
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}

function notPublic(host: string): WebRequestFailed {
  return new WebRequestFailed(
    `${host} is not on the public internet, and this tool may not ask private, loopback or link-local addresses`,
  );
}

async function readText(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
  url: URL,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new WebRequestFailed(`${url.host} answered with more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof WebRequestFailed ? error : networkFault(error, url, signal);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function networkFault(error: unknown, url: URL, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof WebRequestFailed) return cause;
  }
  // The error's own text may quote a header.
  const code = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code;
  return new WebRequestFailed(`${url.host} could not be asked: ${code ?? "the request or the answer is not valid"}`);
}
