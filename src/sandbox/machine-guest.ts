// Talks to the first process inside a task machine: runs commands and copies files in frames that may be hostile.
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, rm } from "node:fs/promises";
import { join, posix } from "node:path";
import type { Readable, Writable } from "node:stream";
import { z } from "zod";
import { type MachineLimits, SHIMS } from "./limits.js";
import { HOME } from "./task-machine.js";

interface CopyBudget {
  files: number;
  bytes: number;
}

/** A read-only file that is in the machine from the start. */
export interface BuiltInFile {
  readonly path: string;
  readonly content: string | Buffer;
  readonly mode: string;
}

interface Pending {
  /** Returns whether this was the last reply. */
  readonly onReply: (frame: GuestFrame) => boolean;
  readonly reject: (error: Error) => void;
}

interface GuestFrame {
  readonly head: unknown;
  readonly body: Buffer;
}

/** Returns the limits that the machine's first process applies to itself and its commands. */
export function guestLimits(limits: MachineLimits): object {
  return {
    address_bytes: limits.addressBytes,
    processes: limits.processes,
    open_files: limits.openFiles,
    output_bytes: limits.outputBytes,
    file_bytes: Math.max(...Object.values(limits.disk)),
  };
}

const CHUNK = 2 ** 20;
const EXECUTABLE = 0o111;

/** Copies a regular file or a folder of regular files into the machine. Replaces existing files. */
export async function copyIntoMachine(
  guest: GuestConnection,
  from: string,
  path: string,
  limits: MachineLimits,
): Promise<void> {
  const budget = { files: limits.copyFiles, bytes: limits.copyBytes };
  await copyEntry(guest, from, absolute(path), budget, true);
}

async function copyEntry(
  guest: GuestConnection,
  from: string,
  path: string,
  budget: CopyBudget,
  replace: boolean,
): Promise<void> {
  if (--budget.files < 0) throw new Error(`Cannot copy ${from} into the machine: too many files`);
  const stat = await lstat(from);
  if (stat.isDirectory()) {
    await guest.request("folder", { path, replace });
    for (const name of (await readdir(from)).sort()) {
      await copyEntry(guest, join(from, name), `${path}/${name}`, budget, false);
    }
  } else if (stat.isFile()) {
    budget.bytes -= stat.size;
    if (budget.bytes < 0) throw new Error(`Cannot copy ${from} into the machine: it is too large`);
    await copyFile(guest, from, path);
  } else {
    throw new Error(
      `Cannot copy ${from} into the machine: it is neither a regular file nor a folder (links are not followed)`,
    );
  }
}

async function copyFile(guest: GuestConnection, from: string, path: string): Promise<void> {
  await using source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const stat = await source.stat();
  if (!stat.isFile()) throw new Error(`${from} is not a regular file`);
  const mode = (stat.mode & EXECUTABLE) === 0 ? 0o644 : 0o755;
  await writeIntoMachine(guest, path, mode, chunksOf(source, stat.size));
}

async function* chunksOf(source: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let remaining = size; remaining > 0; ) {
    const { bytesRead, buffer } = await source.read(Buffer.alloc(Math.min(remaining, CHUNK)));
    if (bytesRead === 0) return;
    remaining -= bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Writes a file in the machine in parts, and waits for each part. */
export async function writeIntoMachine(
  guest: GuestConnection,
  path: string,
  mode: number,
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> {
  const file = guest.nextId;
  await guest.request("create", { path: absolute(path), mode });
  for await (const chunk of chunks) await guest.request("data", { file }, chunk);
  await guest.request("finish", { file });
}

const fetchedSchema = z.object({ size: z.number().int().nonnegative().nullable(), last: z.boolean() });

/** Copies a regular file out of the machine without following links. Returns false if the file does not exist. */
export async function copyOutOfMachine(
  guest: GuestConnection,
  path: string,
  to: string,
  limits: MachineLimits,
): Promise<boolean> {
  const most = limits.copyBytes;
  const parts: Buffer[] = [];
  let bytes = 0;
  let size: number | null = null;
  await guest.stream("fetch", { path: absolute(path), most }, undefined, ({ head, body }) => {
    const part = fetchedSchema.parse(head);
    size = part.size;
    bytes += body.length;
    if (bytes > most) throw new Error(`received more than ${most} bytes of ${path}`);
    parts.push(body);
    return part.last;
  });
  if (size === null) return false;
  if (size > most) throw new Error(`${path} has ${size} bytes, more than the maximum of ${most}`);
  await writeNew(to, parts);
  return true;
}

/** Writes a new file, never through an existing link. */
async function writeNew(to: string, parts: readonly Buffer[]): Promise<void> {
  await rm(to, { force: true });
  await using target = await open(to, "wx", 0o600);
  for (const part of parts) await target.writeFile(part);
}

/** Normalizes an absolute path of the machine. */
function absolute(path: string): string {
  if (!posix.isAbsolute(path) || path.includes("\0")) throw new Error(`${path} is not an absolute path in the machine`);
  const normal = posix.normalize(path).replace(/\/$/, "");
  if (normal === "") throw new Error(`${path} is not a file or folder that can be copied`);
  return normal;
}

/** Folder of the first process's program in the machine. */
export const GUEST = "/opt/machine/guest";

/**
 * Contents of /etc, which include nothing from the host. Programs need them: LibreOffice does not start without a user
 * name.
 */
const ETC: Readonly<Record<string, string>> = {
  passwd: `root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:${HOME}:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n`,
  group: "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n",
  hosts: "127.0.0.1 localhost machine\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\n",
  hostname: "machine\n",
};

export function builtInFiles(
  guest: Readonly<Record<string, string>>,
  shims: Readonly<Record<string, string>>,
): BuiltInFile[] {
  return [
    ...Object.entries(guest).map(([name, content]) => ({ path: `${GUEST}/${name}`, content, mode: "0444" })),
    ...Object.entries(ETC).map(([name, content]) => ({ path: `/etc/${name}`, content, mode: "0444" })),
    ...Object.entries(shims).map(([name, script]) => ({
      path: `${SHIMS}/${name}`,
      content: `#!/bin/sh\n${script}\n`,
      mode: "0555",
    })),
  ];
}

const headSchema = z.looseObject({ id: z.number().int(), error: z.string().optional() });

/** Connection to the machine's first process: sends requests and receives replies. */
export class GuestConnection {
  private readonly pending = new Map<number, Pending>();
  private ended: Error | null = null;
  private last = 0;

  constructor(
    private readonly requests: Writable,
    replies: Readable,
    private readonly onBroken: (error: Error) => void,
  ) {
    const reader = new FrameReader();
    requests.on("error", () => undefined);
    replies.on("error", () => undefined);
    replies.on("data", (chunk: Buffer) => {
      if (this.ended !== null) return;
      try {
        for (const frame of reader.read(chunk)) this.take(frame);
      } catch (error) {
        this.break(error as Error);
      }
    });
  }

  /** Id of the next request. A later request can refer to it. */
  get nextId(): number {
    return this.last + 1;
  }

  /** Sends a request and resolves with its reply. Throws if the machine could not carry it out or has ended. */
  request(op: string, values: object, body?: Buffer): Promise<GuestFrame> {
    let reply: GuestFrame | undefined;
    return this.stream(op, values, body, (frame) => {
      reply = frame;
      return true;
    }).then(() => reply as GuestFrame);
  }

  /** Sends a request and receives replies until `onReply` returns true. */
  stream(op: string, values: object, body: Buffer | undefined, onReply: (frame: GuestFrame) => boolean): Promise<void> {
    if (this.ended !== null) return Promise.reject(this.ended);
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      const settle = (frame: GuestFrame) => {
        const isLast = onReply(frame);
        if (isLast) resolve();
        return isLast;
      };
      this.pending.set(id, { onReply: settle, reject });
      this.requests.write(toFrame({ ...values, id, op }, body));
    });
  }

  /** Ends the connection and rejects all pending requests with the reason. */
  end(why: Error): void {
    this.ended ??= why;
    for (const { reject } of this.pending.values()) reject(this.ended);
    this.pending.clear();
  }

  private take(frame: GuestFrame): void {
    const { id, error } = headSchema.parse(frame.head);
    const pending = this.pending.get(id);
    if (pending === undefined) return;
    if (error !== undefined) {
      this.pending.delete(id);
      pending.reject(new GuestError(error));
      return;
    }
    if (pending.onReply(frame)) this.pending.delete(id);
  }

  private break(error: Error): void {
    const broken = new Error(`the task's machine sent an invalid reply: ${error.message}`);
    this.end(broken);
    this.onBroken(broken);
  }
}

/** A failure of one request, as described by the machine. The machine continues. */
class GuestError extends Error {
  override readonly name = "GuestError";
}

const LENGTHS = 8;
/** Maximum sizes of a frame from the guest: the output of a command, or part of a file. */
const MOST_HEAD = 64 * 2 ** 10;
const MOST_BODY = 16 * 2 ** 20;

/** Encodes a frame: two lengths, a JSON object and raw bytes. */
export function toFrame(head: object, body: Buffer = Buffer.alloc(0)): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const lengths = Buffer.alloc(LENGTHS);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(body.length, 4);
  return Buffer.concat([lengths, text, body]);
}

/** Reads frames from a stream's chunks. Throws for an invalid frame, because a hostile machine can send anything. */
export class FrameReader {
  private chunks: Buffer[] = [];
  private bytes = 0;

  *read(chunk: Buffer): Generator<GuestFrame> {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    while (this.bytes >= LENGTHS) {
      const lengths = this.join(LENGTHS);
      const [head, body] = [lengths.readUInt32BE(0), lengths.readUInt32BE(4)];
      if (head > MOST_HEAD || body > MOST_BODY) throw new Error("its frame is too large");
      const end = LENGTHS + head + body;
      if (this.bytes < end) return;
      const frame = this.join(end);
      this.chunks = [frame.subarray(end)];
      this.bytes -= end;
      yield {
        head: JSON.parse(frame.toString("utf8", LENGTHS, LENGTHS + head)),
        body: frame.subarray(LENGTHS + head, end),
      };
    }
  }

  /** Returns the received bytes, joined until the first chunk has at least this length. */
  private join(bytes: number): Buffer {
    const [first] = this.chunks;
    if (first !== undefined && first.length >= bytes) return first;
    const all = Buffer.concat(this.chunks);
    this.chunks = [all];
    return all;
  }
}
