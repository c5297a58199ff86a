import { Agent, type Dispatcher, EnvHttpProxyAgent } from "undici";
import { proxySettings } from "./proxies.js";

/** Connections to other servers, through the proxy if one is set. A plain http request is not tunneled. */
export function openConnections(options: Agent.Options): Dispatcher {
  const proxies = proxySettings();
  return proxies === null ? new Agent(options) : new EnvHttpProxyAgent({ ...options, ...proxies, proxyTunnel: false });
}
