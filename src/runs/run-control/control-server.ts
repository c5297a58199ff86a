// The Unix socket on which a running run takes requests from its user.
import { chmodSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { parseJsonOrNull } from "../../platform/json.js";
import { type AnswerControl, MAX_MESSAGE_CHARS, replyToControl } from "../control-protocol.js";
import { createSocketFolder, removeEmptySocketFolder, socketFolder, socketPath } from "./socket-folder.js";

/** Milliseconds after which a silent connection is closed. */
const SILENCE_MS = 10_000;

/** Maximum number of connections without a complete request. A new one closes the oldest. */
const MAX_UNREAD = 16;

/** Unix socket that only this user can open, on which a running run accepts control requests. */
export class ControlServer {
  private readonly sockets = new Set<Socket>();
  /** Connections that have not sent a complete request, oldest first. */
  private readonly unread = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly folder: string,
    private readonly path: string,
  ) {}

  /** Starts listening. Throws if the folder or the socket cannot be created. */
  static async open(cacheDir: string, runId: string, answer: AnswerControl): Promise<ControlServer> {
    const folder = socketFolder(cacheDir);
    const path = socketPath(folder, runId);
    const server = createServer();
    const controlServer = new ControlServer(server, folder, path);
    server.on("connection", (socket) => controlServer.serve(socket, answer));
    await controlServer.listen().catch((error: NodeJS.ErrnoException) => {
      // Another run that ended at this moment can remove the empty folder.
      if (error.code !== "ENOENT") throw error;
      return controlServer.listen();
    });
    chmodSync(path, 0o600);
    // A client that stays connected does not keep the run from ending.
    server.unref();
    return controlServer;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const socket of this.sockets) socket.destroySoon();
    setTimeout(() => {
      for (const socket of this.sockets) socket.destroy();
    }, 1_000).unref();
    await closed;
    rmSync(this.path, { force: true });
    removeEmptySocketFolder(this.folder);
  }

  private listen(): Promise<void> {
    createSocketFolder(this.folder);
    // Only one process can hold the lock of a run, so this is the socket of a process that was killed.
    rmSync(this.path, { force: true });
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(this.path, () => {
        this.server.off("error", reject);
        resolve();
      });
    });
  }

  private serve(socket: Socket, answer: AnswerControl): void {
    this.sockets.add(socket);
    this.unread.add(socket);
    const [oldest] = this.unread;
    if (this.unread.size > MAX_UNREAD) oldest?.destroy();
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.sockets.delete(socket);
      this.unread.delete(socket);
    });
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
    socket.setEncoding("utf8");
    let text = "";
    const read = (more: string) => {
      text += more;
      const end = text.indexOf("\n");
      if (end === -1 && text.length <= MAX_MESSAGE_CHARS) return;
      this.unread.delete(socket);
      socket.off("data", read).resume();
      void replyToControl(parseJsonOrNull(end === -1 ? "" : text.slice(0, end)), answer).then((reply) => {
        socket.end(`${JSON.stringify(reply)}\n`);
      });
    };
    socket.on("data", read);
  }
}
