import { Agent, type Dispatcher, EnvHttpProxyAgent } from "undici";
import { proxySettings } from "./proxied-fetch/proxies.js";

/** Opens connections to other servers, through the proxy if one is set. Plain http requests are not tunneled. */
export function openConnections(options: Agent.Options): Dispatcher {
  const proxies = proxySettings();
  return proxies === null ? new Agent(options) : new EnvHttpProxyAgent({ ...options, ...proxies, proxyTunnel: false });
}
