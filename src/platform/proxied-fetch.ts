// The platform's fetch through the user's proxy.
import type { Dispatcher } from "undici";
import { proxySettings } from "./proxied-fetch/proxies.js";

/** Connections through the proxy. Opened, with undici loaded, at the first request that needs them. */
let connections: Dispatcher | undefined;

/** The platform's fetch, through the proxy if one is set. */
export async function proxiedFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  if (proxySettings() === null) return fetch(url, init);
  const [undici, { openConnections }] = await Promise.all([import("undici"), import("./outgoing-connections.js")]);
  connections ??= openConnections({});
  return undici.fetch(url, { ...(init as object), dispatcher: connections }) as unknown as Promise<Response>;
}
