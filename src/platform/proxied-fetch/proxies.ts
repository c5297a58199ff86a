// Reads the proxy settings of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY) and decides which requests use them.
import { BlockList, isIP, isIPv6 } from "node:net";
import { UserError } from "../errors.js";

/**
 * Proxies from HTTP_PROXY, HTTPS_PROXY and NO_PROXY for every connection to another server. Only the process
 * environment counts, because a `.env` file in some folder must not reroute the traffic.
 */

interface ProxySettings {
  /** Settings of undici's agent, which are used only for URLs that need a proxy. */
  readonly agent: { readonly httpProxy: string; readonly httpsProxy: string; readonly noProxy: "" };
  /** Returns whether NO_PROXY contains the URL's host. */
  isDirect(url: URL): boolean;
}

/** Hosts that are never reached through a proxy, for model servers on this machine. Same in Go, not in curl. */
const LOOPBACK = "localhost,127.0.0.0/8,::1";

/** Returns the settings, or null without a proxy. Throws a UserError for an unusable URL. */
export function proxySettings(env: Readonly<Record<string, string | undefined>> = process.env): ProxySettings | null {
  const httpProxy = proxyUrl(env, "HTTP_PROXY");
  const httpsProxy = proxyUrl(env, "HTTPS_PROXY") ?? httpProxy;
  const noProxy = (env.no_proxy ?? env.NO_PROXY ?? "").trim();
  if (httpsProxy === undefined || noProxy === "*") return null;
  const entries = `${noProxy},${LOOPBACK}`
    .split(/[,;\s"']+/)
    .filter((entry) => entry !== "")
    .map(toEntry);
  return {
    // If a proxy is missing here, undici falls back to its own reading of the environment.
    agent: { httpProxy: httpProxy ?? "", httpsProxy, noProxy: "" },
    isDirect: ({ protocol, hostname, port }) => {
      const host = hostname.replace(/^\[|\]$/g, "");
      const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
      return entries.some((matches) => matches(host, number));
    },
  };
}

/**
 * Parses an entry of NO_PROXY: a host with its subdomains (`corp.example`, `.corp.example`, `*.corp.example`), any part
 * of a host with stars (`10.0.*`), an address, or a network (`10.0.0.0/8`). A port (`:8000`) limits it to that port.
 * The scheme and path of a URL do not matter, nor does the dot at the end of a full domain name.
 */
function toEntry(entry: string): (host: string, port: number) => boolean {
  const place = entry.toLowerCase().replace(/^[a-z]+:\/\/([^/]*).*$/, "$1");
  const [, name = place, onlyPort] = isIPv6(place) ? [] : (/^(.*):(\d+)$/.exec(place) ?? []);
  const hasHost = hostMatcher(name.replace(/^\[|\](?=\/|$)/g, ""));
  return (host, port) => (onlyPort === undefined || Number(onlyPort) === port) && hasHost(host.toLowerCase());
}

function hostMatcher(name: string): (host: string) => boolean {
  const [, address = name, bits] = /^([0-9a-f.:]+)\/(\d+)$/.exec(name) ?? [];
  const isV6 = isIPv6(address);
  const size = isV6 ? 128 : 32;
  if (isIP(address) !== 0 && Number(bits ?? size) <= size) {
    const network = new BlockList();
    network.addSubnet(address, Number(bits ?? size), isV6 ? "ipv6" : "ipv4");
    return (host) => isIP(host) !== 0 && network.check(host, isIPv6(host) ? "ipv6" : "ipv4");
  }
  const parts = name
    .replace(/^\*?\.|\.$/g, "")
    .split("*")
    .map((part) => part.replace(/[^a-z0-9]/g, "\\$&"));
  const pattern = new RegExp(`^(?:.*\\.)?${parts.join(".*")}\\.?$`);
  return (host) => pattern.test(host);
}

function proxyUrl(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  // The lower-case name takes precedence, as in curl.
  const value = (env[name.toLowerCase()] || env[name] || "").trim();
  if (value === "") return undefined;
  const url = URL.parse(value.includes("://") ? value : `http://${value}`);
  if (url !== null && /^(https?|socks5?):$/.test(url.protocol)) return withReadableCredentials(url).href;
  throw new UserError(
    "proxy_invalid",
    `${name}: expected a URL such as http://proxy.example:3128.`,
    `Correct or unset ${name}, or exclude hosts with NO_PROXY.`,
  );
}

/** A user name or password that cannot be decoded, because it contains a bare `%`, is used as it is. */
function withReadableCredentials(url: URL): URL {
  for (const part of ["username", "password"] as const) {
    try {
      decodeURIComponent(url[part]);
    } catch {
      url[part] = url[part].replaceAll("%", "%25");
    }
  }
  return url;
}
