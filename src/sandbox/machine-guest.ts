import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, rm } from "node:fs/promises";
import { join, posix } from "node:path";
import type { Readable, Writable } from "node:stream";
import { z } from "zod";
import { type MachineLimits, SHIMS } from "./limits.js";
import { HOME } from "./task-machine.js";

/** What the machine's first process is told to bind itself and its commands by. */
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

/** Copies a regular file or a folder of them into the machine; what is there is replaced. */
export async function copyIntoMachine(
  guest: GuestConnection,
  from: string,
  path: string,
  limits: MachineLimits,
): Promise<void> {
  const budget = { files: limits.copyFiles, bytes: limits.copyBytes };
  await copyEntry(guest, from, absolute(path), budget, true);
}

interface CopyBudget {
  files: number;
  bytes: number;
}

async function copyEntry(
  guest: GuestConnection,
  from: string,
  path: string,
  budget: CopyBudget,
  replace: boolean,
): Promise<void> {
  if (--budget.files < 0) throw new Error(`${from} is one file too many to be copied into the machine`);
  const stat = await lstat(from);
  if (stat.isDirectory()) {
    await guest.request("folder", { path, replace });
    for (const name of (await readdir(from)).sort()) {
      await copyEntry(guest, join(from, name), `${path}/${name}`, budget, false);
    }
  } else if (stat.isFile()) {
    budget.bytes -= stat.size;
    if (budget.bytes < 0) throw new Error(`${from} is too large to be copied into the machine`);
    await copyFile(guest, from, path);
  } else {
    throw new Error(`${from} is neither a regular file nor a folder: links are not followed`);
  }
}

async function copyFile(guest: GuestConnection, from: string, path: string): Promise<void> {
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = await source.stat();
    if (!stat.isFile()) throw new Error(`${from} is not a regular file`);
    const mode = (stat.mode & EXECUTABLE) === 0 ? 0o644 : 0o755;
    await writeIntoMachine(guest, path, mode, chunksOf(source, stat.size));
  } finally {
    await source.close();
  }
}

async function* chunksOf(source: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let left = size; left > 0; ) {
    const { bytesRead, buffer } = await source.read(Buffer.alloc(Math.min(left, CHUNK)));
    if (bytesRead === 0) return;
    left -= bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Writes a file in the machine, in parts that are each waited for. */
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

/** Copies a regular file out, to which no link leads; false where there is none. */
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
    if (bytes > most) throw new Error(`more than ${most} bytes came of ${path}`);
    parts.push(body);
    return part.last;
  });
  if (size === null) return false;
  if (size > most) throw new Error(`${path} has ${size} bytes: files of up to ${most} are collected`);
  await writeNew(to, parts);
  return true;
}

/** Never through a link that lies there. */
async function writeNew(to: string, parts: readonly Buffer[]): Promise<void> {
  await rm(to, { force: true });
  const target = await open(to, "wx", 0o600);
  try {
    for (const part of parts) await target.writeFile(part);
  } finally {
    await target.close();
  }
}

/** The path without `..`, which must be absolute. */
function absolute(path: string): string {
  if (!posix.isAbsolute(path) || path.includes("\0")) throw new Error(`${path} is not an absolute path of the machine`);
  const normal = posix.normalize(path).replace(/\/$/, "");
  if (normal === "") throw new Error(`${path} is not a file or folder that can be copied`);
  return normal;
}

/** A file that is in the machine from its start and cannot be changed there. */
export interface BuiltInFile {
  readonly path: string;
  readonly content: string | Buffer;
  readonly mode: string;
}

/** Where the machine finds the program of its first process. */
export const GUEST = "/opt/machine/guest";

/** What programs ask of /etc, with nothing of this machine's: LibreOffice does not start without a user's name. */
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

interface Pending {
  /** True: the last of the replies. */
  readonly onReply: (frame: GuestFrame) => boolean;
  readonly reject: (error: Error) => void;
}

/** Requests to the program that is the machine's first process, and its replies. */
export class GuestConnection {
  readonly #pending = new Map<number, Pending>();
  #ended: Error | null = null;
  #last = 0;

  constructor(
    private readonly requests: Writable,
    replies: Readable,
    private readonly onBroken: (error: Error) => void,
  ) {
    const reader = new FrameReader();
    requests.on("error", () => undefined);
    replies.on("error", () => undefined);
    replies.on("data", (chunk: Buffer) => {
      if (this.#ended !== null) return;
      try {
        for (const frame of reader.read(chunk)) this.#take(frame);
      } catch (error) {
        this.#break(error as Error);
      }
    });
  }

  /** The id that the next request gets, by which a later one can speak of it. */
  get nextId(): number {
    return this.#last + 1;
  }

  /** The reply to it. Throws where the machine could not do it, or has ended. */
  request(op: string, values: object, body?: Buffer): Promise<GuestFrame> {
    let reply: GuestFrame | undefined;
    return this.stream(op, values, body, (frame) => {
      reply = frame;
      return true;
    }).then(() => reply as GuestFrame);
  }

  /** Every reply to it, until `onReply` says that this was the last. */
  stream(op: string, values: object, body: Buffer | undefined, onReply: (frame: GuestFrame) => boolean): Promise<void> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      const settle = (frame: GuestFrame) => {
        const isLast = onReply(frame);
        if (isLast) resolve();
        return isLast;
      };
      this.#pending.set(id, { onReply: settle, reject });
      this.requests.write(toFrame({ ...values, id, op }, body));
    });
  }

  /** Whoever waits is told why. */
  end(why: Error): void {
    this.#ended ??= why;
    for (const { reject } of this.#pending.values()) reject(this.#ended);
    this.#pending.clear();
  }

  #take(frame: GuestFrame): void {
    const { id, error } = headSchema.parse(frame.head);
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    if (error !== undefined) {
      this.#pending.delete(id);
      pending.reject(new GuestError(error));
      return;
    }
    if (pending.onReply(frame)) this.#pending.delete(id);
  }

  #break(error: Error): void {
    const broken = new Error(`the task's machine gave an answer that cannot be read: ${error.message}`);
    this.end(broken);
    this.onBroken(broken);
  }
}

/** What the machine could not do, in its own words. The machine goes on. */
class GuestError extends Error {
  override readonly name = "GuestError";
}

const LENGTHS = 8;
/** What the guest may send at once: the output of a command, or a part of a file. */
const MOST_HEAD = 64 * 2 ** 10;
const MOST_BODY = 16 * 2 ** 20;

interface GuestFrame {
  readonly head: unknown;
  readonly body: Buffer;
}

/** Two lengths, a JSON object and raw bytes. */
export function toFrame(head: object, body: Buffer = Buffer.alloc(0)): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const lengths = Buffer.alloc(LENGTHS);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(body.length, 4);
  return Buffer.concat([lengths, text, body]);
}

/** Takes frames out of a stream's chunks. What comes from the machine may be anything: throws where it is no frame. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;

  *read(chunk: Buffer): Generator<GuestFrame> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= LENGTHS) {
      const lengths = this.#join(LENGTHS);
      const [head, body] = [lengths.readUInt32BE(0), lengths.readUInt32BE(4)];
      if (head > MOST_HEAD || body > MOST_BODY) throw new Error("the machine's answer is no frame");
      const end = LENGTHS + head + body;
      if (this.#bytes < end) return;
      const frame = this.#join(end);
      this.#chunks = [frame.subarray(end)];
      this.#bytes -= end;
      yield {
        head: JSON.parse(frame.toString("utf8", LENGTHS, LENGTHS + head)),
        body: frame.subarray(LENGTHS + head, end),
      };
    }
  }

  /** The received bytes in one piece where the first is shorter than this. */
  #join(bytes: number): Buffer {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= bytes) return first;
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}
