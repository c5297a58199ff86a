import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { z } from "zod";
import type { GuestConnection } from "./guest-connection.js";
import type { MachineLimits } from "./machine-limits.js";

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

interface Budget {
  files: number;
  bytes: number;
}

async function copyEntry(
  guest: GuestConnection,
  from: string,
  path: string,
  budget: Budget,
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
export function absolute(path: string): string {
  if (!posix.isAbsolute(path) || path.includes("\0")) throw new Error(`${path} is not an absolute path of the machine`);
  const normal = posix.normalize(path).replace(/\/$/, "");
  if (normal === "") throw new Error(`${path} is not a file or folder that can be copied`);
  return normal;
}
