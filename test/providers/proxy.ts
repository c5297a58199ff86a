import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as sendRequest } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

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
