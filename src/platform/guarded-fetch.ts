// HTTP requests to URLs that a model chose: only public addresses, checked after DNS resolution and for each redirect.
import { lookup as systemLookup } from "node:dns";
import { isIP, isIPv6, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { Agent, type Dispatcher, fetch, Pool, ProxyAgent } from "undici";
import { readText } from "./http.js";
import { proxySettings } from "./proxied-fetch/proxies.js";
import { followRedirects, REPEATING_REDIRECTS } from "./redirects.js";

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

/**
 * IPv4-compatible IPv6 addresses (https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.1, deprecated), which ipaddr.js
 * does not classify.
 */
const IPV4_COMPATIBLE = ipaddr.IPv6.parseCIDR("::/96");

/**
 * Returns whether an IP address from a resolver is on the public internet: not private, loopback, link-local (such as
 * cloud metadata) or reserved, and not an IPv6 address that embeds an IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || !parsed.match(IPV4_COMPATIBLE);
}

/** A request that was not sent or has no usable response. The message says why, and contains no header. */
class WebRequestFailed extends Error {
  override readonly name = "WebRequestFailed";
}

/** Headers that must not be sent to another origin, because they were meant for the first. */
const OWN_HEADERS = new Set(["accept", "accept-language", "user-agent", "content-type"]);

/**
 * Sends one request and follows redirects. Each IP address is checked after DNS resolution and then connected to
 * directly, so that a name cannot resolve differently for the check and the connection (DNS rebinding).
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
  const proxy = proxySettings()?.proxyFor(new URL(request.url)) ?? null;
  if (proxy === null) return new Agent(options);
  if (proxy.uri.startsWith("socks")) {
    throw new WebRequestFailed("a SOCKS proxy resolves names itself, so the address cannot be checked");
  }
  // A proxy resolves names by itself, so it gets a tunnel to the checked IP address instead.
  class AddressTunnels extends Pool {
    override async connect(to: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
      const { hostname, port } = new URL(`http://${to.path}`);
      const address = await resolveChecked(hostname.replace(/^\[|\]$/g, ""), lookup);
      const path = `${isIPv6(address) ? `[${address}]` : address}:${port || "80"}`;
      return super.connect({ ...to, path });
    }
  }
  const clientFactory = (origin: URL, pool: object) => new AddressTunnels(origin, { ...pool, connections: 1 });
  return new ProxyAgent({ ...options, ...proxy, clientFactory } as ProxyAgent.Options);
}

function resolveChecked(hostname: string, lookup: LookupFunction): Promise<string> {
  if (isIP(hostname) !== 0) return Promise.resolve(hostname);
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: false }, (error, address) => (error === null ? resolve(String(address)) : reject(error)));
  });
}

async function follow(request: WebRequest, dispatcher: Dispatcher, signal: AbortSignal): Promise<WebAnswer> {
  let { method, headers, body } = request;
  let url = new URL(request.url);
  checkUrl(url, request);
  const rethrow = (error: unknown) => {
    throw networkFault(error, url, signal);
  };
  const send = (to: URL) => fetch(to, { method, headers, body, dispatcher, signal, redirect: "manual" }).catch(rethrow);
  const response = await followRedirects(url, send, {
    statuses: new Set([...REPEATING_REDIRECTS, 303]),
    discard: (reply) => reply.body?.cancel(),
    check({ status, from, to }) {
      if (status === 303 || (status <= 302 && method === "POST")) [method, body] = ["GET", null];
      if (to.origin !== from.origin) {
        headers = Object.fromEntries(Object.entries(headers).filter(([name]) => OWN_HEADERS.has(name.toLowerCase())));
        if (body !== null)
          throw new WebRequestFailed(`${from.host} redirects to ${to.host}, which must not receive the arguments`);
      }
      checkUrl(to, request);
      url = to;
    },
    refuse: (why) => new WebRequestFailed(`${url.host} ${why}`),
  });
  const tooLong = () => new WebRequestFailed(`${url.host} responded with more than ${request.maxBytes} bytes`);
  return {
    status: response.status,
    contentType: response.headers.get("content-type") ?? "",
    text: await readText(response.body, request.maxBytes, tooLong).catch(rethrow),
  };
}

/** Checks a URL. Names are checked when resolved, but an IP address is never resolved, so it is checked here. */
function checkUrl(url: URL, { allows }: WebRequest): void {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new WebRequestFailed(`${url.protocol} URLs are unsupported, only http and https`);
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !allows(host)) throw notPublic(host);
}

function guardedLookup({ allows, lookup = systemLookup as LookupFunction }: WebRequest): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, result) => {
      if (error !== null) return callback(error, "");
      const addresses = (Array.isArray(result) ? result : [{ address: result, family: isIP(result) }]).filter(
        ({ address }) => isIP(address) !== 0,
      );
      const [first] = addresses;
      // One blocked IP address among allowed ones rejects all, because it is a sign of an attack.
      const bad = addresses.find(({ address }) => !allows(address));
      if (bad !== undefined || first === undefined) return callback(notPublic(hostname), "");
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}

function notPublic(host: string): WebRequestFailed {
  return new WebRequestFailed(
    `${host} is not on the public internet, and this tool must not call private, loopback or link-local addresses`,
  );
}

function networkFault(error: unknown, url: URL, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof WebRequestFailed) return cause;
  }
  // The error's own text can contain a header.
  const code = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code;
  return new WebRequestFailed(`cannot call ${url.host}: ${code ?? "the request or the response is invalid"}`);
}
