/** The user's side of steering a running run (`art-e ctl`). The run's side is in `run-control/`. */

import { rmSync } from "node:fs";
import { createConnection } from "node:net";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { parseJsonOrNull } from "../platform/json.js";
import { checkDatabaseFile, openReadOnly } from "../store/open-store.js";
import { getRun, type RunRow } from "../traces/runs-store.js";
import {
  type ControlledRun,
  type ControlReply,
  type ControlRequest,
  controlReplySchema,
  MAX_MESSAGE_CHARS,
} from "./control-protocol.js";
import { socketFolder, socketPath, socketsIn } from "./run-control/socket-folder.js";

/** The run's state after a request, and a text that describes the change. */
interface Controlled {
  readonly run: ControlledRun;
  readonly message: string;
}

/** Milliseconds to wait for a run's reply. */
const REPLY_MS = 10_000;

/** Returns the state of the running runs of a cache folder, from any database. Removes sockets of killed runs. */
export async function listControlledRuns({ cacheDir }: AppSettings): Promise<ControlledRun[]> {
  const sockets = socketsIn(socketFolder(cacheDir));
  const replies = await Promise.all(sockets.map((path) => ask(path, { command: "show", showText: false })));
  const runs = replies.flatMap((reply) => (reply?.ok === true ? [reply.run] : []));
  return runs.sort((a, b) => (a.runId < b.runId ? -1 : 1));
}

/** Sends a request to the process that executes a run of the database at `db`. Throws a UserError if there is none. */
export function controlRun(name: string, request: ControlRequest, { db, cacheDir }: AppSettings): Promise<Controlled> {
  return controlStoredRun(findRun(db, name), request, cacheDir);
}

/** Sends a request to the process that executes a run. Throws a UserError if the run is not running on this machine. */
export async function controlStoredRun(
  { id, status }: Pick<RunRow, "id" | "status">,
  request: ControlRequest,
  cacheDir: string,
): Promise<Controlled> {
  const reply = await ask(socketPath(socketFolder(cacheDir), id), request);
  if (reply === null) {
    throw new UserError(
      "run_not_running",
      `Cannot ${request.command} run ${id}: it is not running on this machine (${status}).`,
      status === "running"
        ? "Use the machine and the --cache-dir of the run."
        : `List running runs: ${commandLine`art-e ctl list`}.`,
      1,
    );
  }
  return acceptedReply(reply);
}

/** Returns the reply of a run that carried out a request, otherwise throws its error as a UserError. */
export function acceptedReply(reply: ControlReply): Extract<ControlReply, { ok: true }> {
  if (!reply.ok) throw new UserError(reply.code, reply.message, reply.hint, 1);
  return reply;
}

function findRun(path: string, name: string) {
  checkDatabaseFile(path, true);
  const db = openReadOnly(path);
  try {
    return getRun(db, name, "newest");
  } finally {
    db.close();
  }
}

/** Errors of a socket whose run has ended, at the latest during the request. */
const ENDED = new Set(["ECONNREFUSED", "ENOENT", "ECONNRESET", "EPIPE"]);

/** Returns the reply, or null if no process listens on the socket or the run ended without a reply. */
function ask(path: string, request: ControlRequest): Promise<ControlReply | null> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    let text = "";
    const fail = (why: string) => {
      socket.destroy();
      const hint = "Use the same version of art-e for the run and for ctl.";
      reject(new UserError("control_failed", `Cannot ${request.command} the run: ${why}.`, hint, 1));
    };
    socket.setEncoding("utf8").setTimeout(REPLY_MS, () => fail("it does not reply"));
    socket.on("connect", () => socket.write(`${JSON.stringify(request)}\n`));
    socket.on("data", (more: string) => {
      text += more;
      if (text.length > MAX_MESSAGE_CHARS) fail("its reply is too long");
    });
    socket.on("end", () => {
      if (text === "") return resolve(null);
      const reply = controlReplySchema.safeParse(parseJsonOrNull(text));
      if (reply.success) resolve(reply.data);
      else fail("its reply cannot be read");
    });
    socket.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      // The socket of a killed process stays behind.
      if (code === "ECONNREFUSED") rmSync(path, { force: true });
      if (ENDED.has(code ?? "")) resolve(null);
      else fail(message);
    });
  });
}
