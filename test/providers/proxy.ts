import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as sendRequest } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";

/** An HTTP proxy on 127.0.0.1 that forwards every host to one local port, or rejects wrong credentials with 407. */
export interface TestProxy {
  readonly url: string;
  /** `POST http://host/path` and `CONNECT host:port`, in order of arrival. */
  readonly requests: readonly string[];
  readonly headers: readonly IncomingHttpHeaders[];
  close(): void;
}

export async function startProxy(port: number, credentials: string | null = null): Promise<TestProxy> {
  const isRejected = ({ headers: { "proxy-authorization": sent } }: IncomingMessage) =>
    credentials !== null && sent !== `Basic ${btoa(credentials)}`;
  const requests: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((incoming, response) => {
    requests.push(`${incoming.method} ${incoming.url}`);
    headers.push(incoming.headers);
    if (isRejected(incoming)) {
      response.writeHead(407, { "proxy-authenticate": "Basic" }).end();
      return;
    }
    const { pathname, search } = new URL(incoming.url ?? "", "http://proxy");
    const { method } = incoming;
    const onward = sendRequest({ host: "127.0.0.1", port, method, path: pathname + search, headers: incoming.headers });
    onward.on("response", (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    incoming.pipe(onward);
  });
  server.on("connect", (incoming, socket: Socket) => {
    requests.push(`CONNECT ${incoming.url}`);
    headers.push(incoming.headers);
    if (isRejected(incoming)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="proxy"\r\n\r\n');
      return;
    }
    const target = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      socket.pipe(target).pipe(socket);
    });
    for (const end of [socket, target]) end.on("error", () => undefined);
  });
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    headers,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** A SOCKS5 proxy (RFC 1928 and 1929) that accepts any user and forwards every host to one local port. */
export async function startSocksProxy(port: number): Promise<Pick<TestProxy, "url" | "requests" | "close">> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createTcpServer(async (socket) => {
    sockets.add(socket);
    const next = async () => ((await once(socket, "data")) as [Buffer])[0];
    await next();
    socket.write(Buffer.from([5, 2]));
    const login = await next();
    const size = login.readUInt8(1);
    requests.push(`${login.toString("utf8", 2, 2 + size)}:${login.toString("utf8", 3 + size)}`);
    socket.write(Buffer.from([1, 0]));
    const ask = await next();
    const end = 5 + ask.readUInt8(4);
    requests.push(`CONNECT ${ask.toString("utf8", 5, end)}:${ask.readUInt16BE(end)}`);
    const target = connect(port, "127.0.0.1", () => {
      socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
      socket.pipe(target).pipe(socket);
    });
    for (const side of [socket, target]) side.on("error", () => undefined);
  });
  await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
  return {
    url: `socks5h://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
