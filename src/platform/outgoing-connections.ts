// The connection pool for requests to other servers, through the proxy if one is set.
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { type ProxyServer, proxySettings } from "./proxied-fetch/proxies.js";

/** Response headers are limited to 16 KB by default, and some gateways send longer policies. */
const MAX_HEADER_BYTES = 256 * 1024;

/** Opens connections to other servers, through the proxy if one is set. Plain http requests are not tunneled. */
export function openConnections(options: Agent.Options): Dispatcher {
  const limited = { ...options, maxHeaderSize: MAX_HEADER_BYTES };
  const direct = new Agent(limited);
  const settings = proxySettings();
  if (settings === null) return direct;
  const proxied = new Map<ProxyServer, Dispatcher>();
  return direct.compose((dispatch) => (request, handler) => {
    const proxy = settings.proxyFor(new URL(String(request.origin)));
    if (proxy === null) return dispatch(request, handler);
    const agent = proxied.get(proxy) ?? new ProxyAgent({ ...limited, ...proxy, proxyTunnel: false });
    proxied.set(proxy, agent);
    return agent.dispatch(request, handler);
  });
}
