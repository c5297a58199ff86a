import { createServer, type Server } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { guardedRequest, isPublicAddress } from "../../src/platform/guarded-fetch.js";
import { proxySettings } from "../../src/platform/proxied-fetch/proxies.js";
import { proxiedFetch } from "../../src/platform/proxied-fetch.js";
import { startProxy, startSocksProxy, type TestProxy } from "../providers/proxy.js";

describe("proxySettings", () => {
  it.each<[string, Record<string, string>]>([
    ["there is no proxy", { NO_PROXY: "a.example" }],
    ["NO_PROXY is *", { HTTPS_PROXY: "http://p:1", NO_PROXY: "*" }],
  ])("returns null if %s", (_, env) => expect(proxySettings(env)).toBeNull());

  it.each<[string, Record<string, string>, string | null]>([
    ["one proxy for https", { HTTPS_PROXY: "http://p:1" }, null],
    ["HTTP_PROXY for both protocols", { HTTP_PROXY: "http://p:1" }, "http://p:1/"],
    ["the lower-case variable if both are set", { HTTP_PROXY: "http://q:2", http_proxy: "http://p:1" }, "http://p:1/"],
  ])("selects %s", (_, env, http) => {
    const settings = proxySettings(env);
    expect(settings?.proxyFor(new URL("https://a.example"))).toEqual({ uri: "http://p:1/" });
    expect(settings?.proxyFor(new URL("http://a.example"))?.uri ?? null).toBe(http);
  });

  it.each([
    ["p:3128", "http://p:3128/"],
    ["HTTPS://P:3128", "https://p:3128/"],
    ["socks5h://p:1080", "socks5://p:1080"],
  ])("reads the proxy %s as %s", (value, uri) => {
    expect(proxySettings({ HTTP_PROXY: value })?.proxyFor(new URL("http://a.example"))).toEqual({ uri });
  });

  it.each([
    ["u:s", "u", "s"],
    ["u:a6%6q", "u", "a6%6q"],
    ["u:a%40%3A%2f", "u", "a@:/"],
    ["DOMAIN\\u:s", "DOMAIN\\u", "s"],
    ["u:a#b", "u", "a#b"],
    ["u:a/b?c", "u", "a/b?c"],
    ["u:a@b:c", "u", "a@b:c"],
    ["token", "token", ""],
  ])("reads the credentials %s of a proxy as user %s with password %s", (credentials, username, password) => {
    const token = `Basic ${btoa(`${username}:${password}`)}`;
    for (const value of [`http://${credentials}@p:1`, `${credentials}@p:1`]) {
      const proxy = proxySettings({ HTTP_PROXY: value })?.proxyFor(new URL("http://a.example"));
      expect(proxy).toEqual({ uri: "http://p:1/", username, password, token });
    }
  });

  it.each([
    ["a.example", "http://a.example/", true],
    [" a.example , b.example", "https://sub.b.example/", true],
    ["*.a.example", "http://a.example/", true],
    ["a.example", "http://xa.example/", false],
    ["a.example:8000", "http://a.example:8000/", true],
    ["a.example:8000", "http://a.example/", false],
    ["10.0.0.0/8", "http://10.9.8.7/", true],
    ["10.0.0.0/8", "http://11.9.8.7/", false],
    ["fd00::/8", "http://[fd00::1]/", true],
    ["10.0.*", "http://10.0.3.4/", true],
    ["10.0.0.0/8:8000", "http://10.9.8.7:8000/", true],
    ["10.0.0.0/8:8000", "http://10.9.8.7/", false],
    ["[fd00::]/8", "http://[fd00::1]/", true],
    ["[fd00:0:0:0:0:0:0:1]:80", "http://[fd00::1]/", true],
    ["a.example.", "http://a.example/", true],
    ["a.example", "http://a.example./", true],
    ["https://a.example/v1", "http://a.example/", true],
    ["http://10.9.8.7:8000/v1", "http://10.9.8.7:8000/", true],
    ["'a.example;b.example'", "http://b.example/", true],
    ["", "http://127.0.0.2/", true],
    ["localhost,*", "https://any.example/", true],
    ["", "http://127.0.0.1:11434/", true],
    ["", "http://[::1]/", true],
    ["", "http://any.example/", false],
  ])("excludes with NO_PROXY=%s the URL %s (%s)", (noProxy, url, isDirect) => {
    const settings = proxySettings({ HTTP_PROXY: "http://p:1", NO_PROXY: noProxy });
    expect(settings?.proxyFor(new URL(url)) === null).toBe(isDirect);
  });

  it.each(["ftp://p:21", "http://", "http://p:99999", "http://u:s@", "socks5://", "socks4://p:1080"])(
    "rejects %s, and names the variable",
    (url) => {
      expect(() => proxySettings({ HTTPS_PROXY: url })).toThrow(/^HTTPS_PROXY: expected a URL/);
    },
  );
});

describe("a configured proxy", () => {
  let target: Server;
  let proxy: TestProxy;
  beforeEach(async () => {
    target = createServer((request, response) => response.end(`${request.headers.host}${request.url}`));
    await new Promise<void>((up) => target.listen(0, "127.0.0.1", up));
    proxy = await startProxy((target.address() as AddressInfo).port);
    vi.stubEnv("HTTP_PROXY", proxy.url);
    vi.stubEnv("http_proxy", "");
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    proxy.close();
    target.closeAllConnections();
    target.close();
  });

  it("forwards requests, except to this machine", async () => {
    expect(await (await proxiedFetch("http://files.example.invalid/x?y")).text()).toBe("files.example.invalid/x?y");
    expect(proxy.requests).toEqual(["GET http://files.example.invalid/x?y"]);
    const { port } = target.address() as AddressInfo;
    expect(await (await proxiedFetch(`http://127.0.0.1:${port}/z`)).text()).toBe(`127.0.0.1:${port}/z`);
    expect(proxy.requests).toHaveLength(1);
  });

  it.each([
    ["DOMAIN\\user", "a#b/c?d@e:f%g"],
    ["user", "päss"],
  ])("receives the user name and password as they were pasted (%s, %s)", async (user, password) => {
    vi.stubEnv("HTTP_PROXY", `http://${user}:${password}@${new URL(proxy.url).host}`);
    vi.resetModules();
    const { proxiedFetch: fetchAgain } = await import("../../src/platform/proxied-fetch.js");
    await (await fetchAgain("http://files.example.invalid/")).text();
    const sent = proxy.headers[0]?.["proxy-authorization"] ?? "";
    expect(Buffer.from(sent.replace("Basic ", ""), "base64").toString()).toBe(`${user}:${password}`);
  });

  it("sends a user name without a password", async () => {
    vi.stubEnv("HTTP_PROXY", `http://token@${new URL(proxy.url).host}`);
    vi.resetModules();
    const { proxiedFetch: fetchAgain } = await import("../../src/platform/proxied-fetch.js");
    await (await fetchAgain("http://files.example.invalid/")).text();
    expect(proxy.headers[0]?.["proxy-authorization"]).toBe(`Basic ${btoa("token:")}`);
  });

  it("receives no request from a tool if it is a SOCKS proxy, because it resolves names itself", async () => {
    vi.stubEnv("HTTP_PROXY", "socks5h://127.0.0.1:9");
    await expect(guarded("http://api.example.invalid/x", "93.184.216.34")).rejects.toThrow(/cannot be checked/);
  });

  it("resolves names itself if its scheme is socks5h", async () => {
    const socks = await startSocksProxy((target.address() as AddressInfo).port);
    vi.stubEnv("HTTP_PROXY", `socks5h://DOMAIN\\user:a#b@${new URL(socks.url).host}`);
    vi.resetModules();
    const { proxiedFetch: fetchAgain } = await import("../../src/platform/proxied-fetch.js");
    expect(await (await fetchAgain("http://files.example.invalid/x")).text()).toBe("files.example.invalid/x");
    expect(socks.requests).toEqual(["DOMAIN\\user:a#b", "CONNECT files.example.invalid:80"]);
    socks.close();
  });

  const resolving =
    (address: string): LookupFunction =>
    (_, options, callback) =>
      options.all ? callback(null, [{ address, family: 4 }]) : callback(null, address, 4);

  const guarded = (url: string, address: string) =>
    guardedRequest(
      {
        method: "GET",
        url,
        headers: {},
        body: null,
        maxBytes: 1_000,
        allows: isPublicAddress,
        lookup: resolving(address),
      },
      new AbortController().signal,
    );

  it("forwards a tool's request to the checked address through a tunnel", async () => {
    expect(await guarded("http://api.example.invalid/x", "93.184.216.34")).toMatchObject({
      status: 200,
      text: "api.example.invalid/x",
    });
    expect(proxy.requests).toEqual(["CONNECT 93.184.216.34:80"]);
  });

  it.each([
    ["http://inside.example.invalid/", "10.0.0.1"],
    ["https://inside.example.invalid/", "169.254.169.254"],
    ["http://10.0.0.1/", "10.0.0.1"],
  ])("receives no request from a tool to %s, because art-e rejects it", async (url, address) => {
    await expect(guarded(url, address)).rejects.toThrow(/not on the public internet/);
    expect(proxy.requests).toEqual([]);
  });
});
