// Reads the proxy settings of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY) and decides which requests use them.
import { BlockList, isIP, isIPv6 } from "node:net";
import { UserError } from "../errors.js";

/**
 * Proxies from HTTP_PROXY, HTTPS_PROXY and NO_PROXY for every connection to another server. Only the process
 * environment counts, because a `.env` file in some folder must not reroute the traffic.
 */

interface ProxySettings {
  /** Returns the proxy for a URL, or null if NO_PROXY contains its host, or if its scheme has no proxy. */
  proxyFor(url: URL): ProxyServer | null;
}

/** A proxy as options of undici's ProxyAgent. */
export interface ProxyServer {
  /** Without credentials. */
  readonly uri: string;
  /** For a SOCKS proxy. */
  readonly username?: string;
  readonly password?: string;
  /** Proxy-Authorization header. undici creates it only if there is a password. */
  readonly token?: string;
}

/** Hosts that are never reached through a proxy, for model servers on this machine. Same in Go, not in curl. */
const LOOPBACK = "localhost,127.0.0.0/8,::1";

/** Returns the settings, or null without a proxy. Throws a UserError for an unusable URL. */
export function proxySettings(env: Readonly<Record<string, string | undefined>> = process.env): ProxySettings | null {
  const httpProxy = proxyUrl(env, "HTTP_PROXY");
  const httpsProxy = proxyUrl(env, "HTTPS_PROXY") ?? httpProxy;
  const noProxy = (env.no_proxy ?? env.NO_PROXY ?? "").trim();
  if (httpsProxy === null || noProxy === "*") return null;
  const entries = `${noProxy},${LOOPBACK}`
    .split(/[,;\s"']+/)
    .filter((entry) => entry !== "")
    .map(toEntry);
  return {
    proxyFor: ({ protocol, hostname, port }) => {
      const host = hostname.replace(/^\[|\]$/g, "");
      const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
      if (entries.some((matches) => matches(host, number))) return null;
      return protocol === "https:" ? httpsProxy : httpProxy;
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

/** Reads a proxy's URL. Throws a UserError if it is unusable. */
function proxyUrl(env: Readonly<Record<string, string | undefined>>, name: string): ProxyServer | null {
  // The lower-case name takes precedence, as in curl.
  const value = (env[name.toLowerCase()] || env[name] || "").trim();
  if (value === "") return null;
  // Credentials are pasted with characters that a URL reserves (`DOMAIN\user`, `#`, `/`, `@`), so they are everything
  // before the last `@`.
  const [, scheme = "http", credentials, place] = /^(?:([a-z\d+.-]+):\/\/)?(?:(.*)@)?(.*)$/is.exec(value) ?? [];
  // undici lets every SOCKS proxy resolve names, which is what the `h` requests.
  const uri = URL.parse(`${scheme.toLowerCase().replace("socks5h", "socks5")}://${place}`);
  if (uri === null || uri.hostname === "" || !/^(https?|socks5?):$/.test(uri.protocol)) {
    throw new UserError(
      "proxy_invalid",
      `${name}: expected a URL such as http://proxy.example:3128 or socks5://proxy.example:1080.`,
      `Correct or unset ${name}, or exclude hosts with NO_PROXY.`,
    );
  }
  if (credentials === undefined) return { uri: uri.href };
  const [username = "", password = ""] = (/^([^:]*):?(.*)$/s.exec(credentials) ?? []).slice(1).map(decodedOrSame);
  return {
    uri: uri.href,
    username,
    password,
    token: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
  };
}

/** Decodes percent-encoding. Text with a bare `%` is not encoded. */
function decodedOrSame(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
