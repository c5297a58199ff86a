import type { IncomingHttpHeaders } from "node:http";
import type { LookupFunction } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { guardedRequest, isPublicAddress, type WebRequest } from "../../src/platform/guarded-fetch.js";
import { never } from "../runs/demo-setup.js";
import { startWeb, type WebServer } from "../tools/own-tools.js";

describe("guardedRequest", () => {
  /**
   * The host's loopback addresses represent other hosts: 127.0.0.2 the public internet, and 127.0.0.1 a private host.
   */

  const PUBLIC = "127.0.0.2";
  let open: WebServer;
  let other: WebServer;
  let hidden: WebServer;
  let hiddenAsked = 0;
  let otherHeaders: IncomingHttpHeaders = {};

  beforeAll(async () => {
    hidden = await startWeb((_, response) => {
      hiddenAsked++;
      response.end("the secrets of this machine");
    });
    other = await startWeb((request, response) => {
      otherHeaders = request.headers;
      response.end(request.method);
    }, PUBLIC);
    open = await startWeb(async (request, response) => {
      const url = new URL(request.url ?? "", "http://x");
      const to = url.searchParams.get("to");
      if (to !== null) return response.writeHead(Number(url.searchParams.get("status") ?? 302), { location: to }).end();
      if (url.pathname === "/slow") return response.writeHead(200).write("a");
      if (url.pathname === "/huge") {
        response.on("close", () => response.destroy());
        const more = () => {
          while (!response.destroyed && response.write("x".repeat(65_536)));
          if (!response.destroyed) response.once("drain", more);
        };
        return more();
      }
      if (url.pathname === "/bomb") {
        return response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(50_000_000)));
      }
      if (url.pathname === "/cut") {
        response.writeHead(200, { "content-length": "1000" });
        response.write("half");
        return setImmediate(() => response.destroy());
      }
      return response.end(`${request.method} ${request.headers.host}`);
    }, PUBLIC);
  });

  afterAll(async () => {
    for (const server of [open, other, hidden]) await server.close();
  });

  const request = (url: string, changes: Partial<WebRequest> = {}): WebRequest => ({
    method: "GET",
    url,
    headers: { authorization: "Bearer key", "x-own": "1", accept: "*/*" },
    body: null,
    maxBytes: 100_000,
    allows: (address) => address === PUBLIC,
    ...changes,
  });

  const ask = (url: string, changes: Partial<WebRequest> = {}, signal = never) =>
    guardedRequest(request(url, changes), signal);

  /** A resolver that returns one list of addresses per query, and the last one forever. */
  function resolver(...answers: string[][]): LookupFunction {
    return (_, options, callback) => {
      const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
      const found = addresses.map((address) => ({ address, family: 4 }));
      if (options.all) callback(null, found);
      else callback(null, found[0]?.address ?? "", 4);
    };
  }

  it("calls a public address", async () => {
    expect(await ask(open.url)).toMatchObject({ status: 200, text: `GET ${PUBLIC}:${open.port}` });
  });

  it.each([
    ["itself", () => hidden.url],
    ["in another notation", () => `http://2130706433:${hidden.port}`],
    ["in hex", () => `http://0x7f.1:${hidden.port}`],
    ["as IPv6", () => `http://[::ffff:127.0.0.1]:${hidden.port}`],
    ["by a redirect", () => `${open.url}/?to=${encodeURIComponent(hidden.url)}`],
    ["by two redirects", () => `${open.url}/?to=${encodeURIComponent(`/?to=${encodeURIComponent(hidden.url)}`)}`],
  ])("does not call a private address if it is given %s", async (_, url) => {
    await expect(ask(url())).rejects.toThrow("is not on the public internet");
    expect(hiddenAsked).toBe(0);
  });

  it("does not call a name that resolves to a private address, even if it also has public ones", async () => {
    const url = `http://name.test:${hidden.port}`;
    await expect(ask(url, { lookup: resolver(["127.0.0.1"]) })).rejects.toThrow(
      "name.test is not on the public internet",
    );
    await expect(ask(url, { lookup: resolver([PUBLIC, "127.0.0.1"]) })).rejects.toThrow(
      "is not on the public internet",
    );
    await expect(ask(url, { lookup: resolver([]) })).rejects.toThrow();
    expect(hiddenAsked).toBe(0);
  });

  it("connects to the checked address, and checks again for a redirect to the same name", async () => {
    const rebinding = resolver([PUBLIC], ["127.0.0.1"]);
    expect(await ask(`http://name.test:${open.port}`, { lookup: rebinding })).toMatchObject({ status: 200 });
    const again = resolver([PUBLIC], ["127.0.0.1"]);
    const to = encodeURIComponent(`http://name.test:${hidden.port}`);
    await expect(ask(`http://name.test:${open.port}/?to=${to}`, { lookup: again })).rejects.toThrow("public internet");
    expect(hiddenAsked).toBe(0);
  });

  it("does not send its own headers to another origin", async () => {
    const { text } = await ask(`${open.url}/?to=${encodeURIComponent(other.url)}`);
    expect(text).toBe("GET");
    expect(otherHeaders).not.toHaveProperty("authorization");
    expect(otherHeaders).not.toHaveProperty("x-own");
    expect(otherHeaders).toHaveProperty("accept");
  });

  it("does not send a POST's arguments to another origin, and changes a POST to a GET only if browsers do", async () => {
    const post = { method: "POST", body: "{}" };
    const to = encodeURIComponent(other.url);
    await expect(ask(`${open.url}/?to=${to}&status=307`, post)).rejects.toThrow("must not receive the arguments");
    expect(await ask(`${open.url}/?to=${to}&status=303`, post)).toMatchObject({ text: "GET" });
    expect(await ask(`${open.url}/?to=/&status=308`, post)).toMatchObject({ text: expect.stringMatching(/^POST/) });
  });

  it.each([
    [301, "GET"],
    [302, "GET"],
    [303, "GET"],
    [307, "POST"],
    [308, "POST"],
  ])("follows a redirect with %d, and sends a POST as %s", async (status, method) => {
    const post = { method: "POST", body: "{}" };
    expect(await ask(`${open.url}/?to=/&status=${status}`, post)).toMatchObject({
      status: 200,
      text: `${method} ${PUBLIC}:${open.port}`,
    });
    expect(await ask(`${open.url}/?to=/&status=${status}`)).toMatchObject({
      status: 200,
      text: expect.stringMatching(/^GET /),
    });
  });

  it("ignores the Location header if the status is not a redirect", async () => {
    expect(await ask(`${open.url}/?to=/&status=201`)).toMatchObject({ status: 201, text: "" });
    await expect(ask(`${open.url}/?to=${encodeURIComponent("http://[")}`)).rejects.toThrow(
      "redirects to an invalid URL",
    );
  });

  it("follows five redirects in a row", async () => {
    let left = 5;
    const chain = await startWeb((_, response) => {
      if (left-- > 0) return response.writeHead(302, { location: "/" }).end();
      return response.end("arrived");
    }, PUBLIC);
    expect(await ask(chain.url)).toMatchObject({ text: "arrived" });
    await chain.close();
  });

  it("reads a response of the maximum size", async () => {
    const { text } = await ask(open.url);
    expect(await ask(open.url, { maxBytes: text.length })).toMatchObject({ text });
    await expect(ask(open.url, { maxBytes: text.length - 1 })).rejects.toThrow(`more than ${text.length - 1} bytes`);
  });

  it("reports an unresolvable name", async () => {
    const lookup: LookupFunction = (_hostname, _options, callback) =>
      callback(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), "");
    await expect(ask(`http://name.test:${open.port}`, { lookup })).rejects.toThrow(
      `cannot call name.test:${open.port}: ENOTFOUND`,
    );
  });

  it("stops following a redirect loop", async () => {
    const loop = await startWeb(
      (incoming, response) => response.writeHead(302, { location: incoming.url ?? "/" }).end(),
      PUBLIC,
    );
    await expect(ask(loop.url)).rejects.toThrow("redirects more than 5 times");
    await loop.close();
  });

  it.each(["file:///etc/passwd", "ftp://127.0.0.2/x", "data:text/plain,x"])(
    "does not follow a redirect to %s",
    async (to) => {
      await expect(ask(`${open.url}/?to=${encodeURIComponent(to)}`)).rejects.toThrow("only http and https");
    },
  );

  it.each(["/huge", "/bomb"])("reads at most the maximum size of %s", async (path) => {
    await expect(ask(open.url + path)).rejects.toThrow(/more than 100000 bytes/);
  });

  it("aborts a slow body with the signal's own reason", async () => {
    const controller = new AbortController();
    const asked = ask(`${open.url}/slow`, {}, controller.signal);
    const reason = new Error("enough");
    setTimeout(() => controller.abort(reason), 50);
    await expect(asked).rejects.toBe(reason);
  });

  it("describes the fault, but shows no header", async () => {
    await expect(ask(`${open.url}/cut`)).rejects.toThrow(`cannot call ${PUBLIC}:${open.port}`);
    const odd = ask(open.url, { headers: { authorization: "Bearer a\nb" } });
    await expect(odd).rejects.toThrow("cannot call");
    await expect(odd).rejects.not.toThrow("Bearer");
  });
});

it.each([
  "127.0.0.1",
  "127.8.9.1",
  "0.0.0.0",
  "10.1.2.3",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "100.64.0.1",
  "169.254.169.254",
  "224.0.0.1",
  "255.255.255.255",
  "192.0.0.0",
  "192.0.0.255",
  "192.0.2.1",
  "203.0.113.0",
  "203.0.113.255",
  "198.18.0.1",
  "::",
  "::1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:a9fe:a9fe",
  "::ffff:8.8.8.8",
  "fe80::1",
  "fe80::1%eth0",
  "fc00::1",
  "fd00:ec2::254",
  "ff02::1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::",
  "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
  "fec0::1",
  "feff:ffff::1",
  "2002:7f00:1::",
  "2001::1",
  "2001:db8::1",
  // Segment routing, documentation, AS112, discard-only and IPv4-translated addresses (IANA's special-purpose
  // registry).
  "5f00::1",
  "5f00:ffff::1",
  "3fff::1",
  "3fff:fff:ffff::1",
  "2620:4f:8000::1",
  "100::1",
  "::ffff:0:7f00:1",
  "192.175.48.1",
  "not an address",
  "",
])("isPublicAddress rejects %s", (address) => expect(isPublicAddress(address)).toBe(false));

it.each([
  "8.8.8.8",
  "1.1.1.1",
  "172.15.0.1",
  "172.32.0.1",
  "192.167.1.1",
  "192.0.1.0",
  "203.0.112.255",
  "203.0.114.0",
  "64:ff9b:2::",
  "100.128.0.1",
  "2606:4700::1111",
  "5eff:ffff::1",
  "3fff:1000::1",
  "2620:4f:7fff::1",
  "2620:4f:8001::1",
  "2a00:1450::1",
])("isPublicAddress accepts %s", (address) => expect(isPublicAddress(address)).toBe(true));
