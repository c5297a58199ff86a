// The connection pool for requests to other servers, through the proxy if one is set.
import { Agent, type Dispatcher, EnvHttpProxyAgent } from "undici";
import { proxySettings } from "./proxied-fetch/proxies.js";

/** Response headers are limited to 16 KB by default, and some gateways send longer policies. */
const MAX_HEADER_BYTES = 256 * 1024;

/** Opens connections to other servers, through the proxy if one is set. Plain http requests are not tunneled. */
export function openConnections(options: Agent.Options): Dispatcher {
  const limited = { ...options, maxHeaderSize: MAX_HEADER_BYTES };
  const direct = new Agent(limited);
  const settings = proxySettings();
  if (settings === null) return direct;
  const proxied = new EnvHttpProxyAgent({ ...limited, ...settings.agent, proxyTunnel: false });
  return direct.compose(
    (dispatch) => (request, handler) =>
      settings.isDirect(new URL(String(request.origin)))
        ? dispatch(request, handler)
        : proxied.dispatch(request, handler),
  );
}
