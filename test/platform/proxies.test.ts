import { createServer, type Server } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { guardedRequest, isPublicAddress } from "../../src/platform/guarded-fetch.js";
import { proxySettings } from "../../src/platform/proxied-fetch/proxies.js";
import { proxiedFetch } from "../../src/platform/proxied-fetch.js";
import { startProxy, type TestProxy } from "../providers/proxy.js";

describe("proxySettings", () => {
  it.each<[string, Record<string, string>, object | null]>([
    ["null if there is no proxy", { NO_PROXY: "a.example" }, null],
    ["null if NO_PROXY is *", { HTTPS_PROXY: "http://p:1", NO_PROXY: "*" }, null],
    ["one proxy for https", { HTTPS_PROXY: "http://p:1" }, { httpProxy: "", httpsProxy: "http://p:1/" }],
    [
      "HTTP_PROXY for both protocols",
      { HTTP_PROXY: "http://u:s@p:1", NO_PROXY: "a.example" },
      { httpProxy: "http://u:s@p:1/", httpsProxy: "http://u:s@p:1/" },
    ],
    [
      "the lower-case variable's value if both are set",
      { HTTP_PROXY: "http://p:1", http_proxy: "http://q:2" },
      { httpProxy: "http://q:2/" },
    ],
    ["an http URL for a host without a scheme", { HTTPS_PROXY: "p:3128" }, { httpsProxy: "http://p:3128/" }],
    ["a password with a bare %", { HTTPS_PROXY: "http://u:a6%6q@p:1" }, { httpsProxy: "http://u:a6%256q@p:1/" }],
  ])("selects %s", (_, env, expected) => {
    if (expected === null) expect(proxySettings(env)).toBeNull();
    else expect(proxySettings(env)?.agent).toMatchObject(expected);
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
    expect(settings?.isDirect(new URL(url))).toBe(isDirect);
  });

  it.each(["ftp://p:21", "http://", "http://p:99999"])("rejects %s, and names the variable", (url) => {
    expect(() => proxySettings({ HTTPS_PROXY: url })).toThrow(/^HTTPS_PROXY: expected a URL/);
  });
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
