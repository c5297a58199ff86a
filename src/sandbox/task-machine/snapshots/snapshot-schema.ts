import { posix } from "node:path";
import { z } from "zod";

/** Where folders of a suite's choice may lie: packages, never somebody's files. */
const BINDABLE = ["/opt/", "/usr/", "/nix/store/"];
/** What tasks can write to, which is where a snapshot's files can be. */
const WRITABLE = ["/home/user/", "/tmp/", "/mnt/"];

const absolutePath = z
  .string()
  .max(4096)
  .refine((path) => posix.isAbsolute(path) && posix.normalize(path) === path && !path.includes("\0"), {
    message: "must be an absolute path without . and ..",
  });
const bindable = absolutePath.refine((path) => BINDABLE.some((folder) => path.startsWith(folder)), {
  message: `must lie below ${BINDABLE.join(" or ")}`,
});
const writable = absolutePath.refine((path) => WRITABLE.some((folder) => path.startsWith(folder)), {
  message: `must lie below ${WRITABLE.join(" or ")}`,
});
const programName = z.string().regex(/^[\w.+-]+$/, "must be the name of a program");
const moduleName = z.string().regex(/^[A-Za-z_]\w*$/, "must be the name of a Python module");
const variableName = z.string().regex(/^[A-Za-z_]\w*$/, "must be the name of a variable");
/** A Debian package; null where Debian has none. */
const packageName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.+-]+$/, "must be the name of a Debian package")
  .nullable();
const script = z.string().max(100_000);

/** A snapshot as `snapshots.json` has it. */
export const snapshotSchema = z.strictObject({
  /** Another one, whose contents it has too. */
  extends: z.string().optional(),
  /** Programs that must be there, with the package each comes from. */
  commands: z.record(programName, packageName).default({}),
  /** Python modules, likewise. */
  modules: z.record(moduleName, packageName).default({}),
  /** Folders of this machine that are shown read-only beside its packages. */
  readOnly: z.array(bindable).max(50).default([]),
  /** Programs of its own, first on the path: a name and the lines of a shell script. */
  shims: z.record(programName, script).default({}),
  /** Files and folders that are there from the start. */
  files: z.record(writable, script).default({}),
  folders: z.array(writable).max(100).default([]),
  env: z.record(variableName, z.string().max(10_000)).default({}),
  /** Commands that are run in it before the task's own set-up. */
  setUp: z
    .array(z.array(z.string().max(10_000)).min(1))
    .max(20)
    .default([]),
  /** A Docker image that holds its programs and modules: its machines are containers, and `readOnly` is left out. */
  image: z
    .string()
    .max(255)
    .regex(/^[a-z0-9][\w./:@-]*$/, "must be the name of a Docker image")
    .optional(),
  /** Why no machine can hold it: what its tasks need that is not here. */
  unavailable: z.string().min(1).optional(),
});

export type SnapshotEntry = z.output<typeof snapshotSchema>;

/** With what it extends. */
export interface Snapshot extends Omit<SnapshotEntry, "extends" | "image" | "unavailable"> {
  readonly name: string;
  /** Null: bubblewrap over the packages of this machine. */
  readonly image: string | null;
  readonly unavailable: string | null;
}

export const snapshotsSchema = z.record(z.string().min(1).max(100), snapshotSchema);

/** One with nothing but what every machine has. */
export const EMPTY_SNAPSHOT: Snapshot = {
  name: "empty",
  commands: {},
  modules: {},
  readOnly: [],
  shims: {},
  files: {},
  folders: [],
  env: {},
  setUp: [],
  image: null,
  unavailable: null,
};
