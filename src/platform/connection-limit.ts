// Limits the open connections of a server without letting silent ones keep others out.
import type { Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Limits the open connections of a server. A new connection replaces the oldest one without a request, so connections
 * that never send their header do not keep others out.
 */
export function limitConnections(server: Server, max: number): void {
  const open = new Set<Socket>();
  /** Connections that are not serving a request, oldest first. */
  const idle = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    if (open.size >= max) {
      const [oldest = socket] = idle;
      idle.delete(oldest);
      open.delete(oldest);
      oldest.destroy();
      if (oldest === socket) return;
    }
    open.add(socket);
    idle.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      idle.delete(socket);
    });
  });
  server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => {
      if (open.has(socket)) idle.add(socket);
    });
  });
  server.on("upgrade", ({ socket }) => idle.delete(socket));
}
