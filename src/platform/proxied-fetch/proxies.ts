import type { EnvHttpProxyAgent } from "undici";
import { UserError } from "../errors.js";

/**
 * Proxies from HTTP_PROXY, HTTPS_PROXY and NO_PROXY for every connection to another server. Only the process
 * environment counts, because a `.env` file in some folder must not reroute the traffic.
 */

type ProxySettings = Required<Pick<EnvHttpProxyAgent.Options, "noProxy">> &
  Pick<EnvHttpProxyAgent.Options, "httpProxy" | "httpsProxy">;

/** Hosts that are never reached through a proxy, for model servers on this machine. Same in Go, not in curl. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Returns the settings for undici's agent, or null without a proxy. Throws a UserError for an unusable URL. */
export function proxySettings(env: Readonly<Record<string, string | undefined>> = process.env): ProxySettings | null {
  const httpProxy = proxyUrl(env, "HTTP_PROXY");
  const httpsProxy = proxyUrl(env, "HTTPS_PROXY") ?? httpProxy;
  const noProxy = (env.no_proxy ?? env.NO_PROXY ?? "").trim();
  if (httpsProxy === undefined || noProxy === "*") return null;
  // If a proxy is missing here, undici falls back to its own reading of the environment.
  return { httpProxy: httpProxy ?? "", httpsProxy, noProxy: [noProxy, ...LOOPBACK].join(",") };
}

function proxyUrl(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  // The lower-case name takes precedence, as in curl.
  const value = (env[name.toLowerCase()] || env[name] || "").trim();
  if (value === "") return undefined;
  const url = URL.parse(value.includes("://") ? value : `http://${value}`);
  if (url !== null && /^(https?|socks5?):$/.test(url.protocol)) return url.href;
  throw new UserError(
    "proxy_invalid",
    `${name}: expected a URL such as http://proxy.example:3128.`,
    `Correct or unset ${name}, or exclude hosts with NO_PROXY.`,
  );
}
