import { execFile } from "node:child_process";
import { arch, platform } from "node:os";
import { promisify } from "node:util";
import { type FoundPython, findProgram, findPython, foldersOf } from "../find-python.js";
import { PYTHON_FLAGS, pythonPreamble } from "../python-bootstrap.js";
import type { SandboxChoice } from "../python-sandbox.js";
import { WORKSPACE_LIMITS } from "../sandbox-limits.js";
import { INSIDE } from "../workspace/safe-open.js";
import { findCgroups } from "./cgroup.js";
import { TEMPORARY } from "./private-folders.js";
import { seccompFilter } from "./seccomp-filter.js";

/** The only devices there are: no /dev/zero, since mapping it shares memory that counts for no process. */
const DEVICES = ["/dev/null", "/dev/urandom"];
/** Public data, and nothing of which zone this machine is in. */
const TIME_ZONES = "/usr/share/zoneinfo";
/** Descriptors that `Launch.filter` and bwrap's status are on. */
const FILTER = "3";
const STATUS = "4";
/** Where Python says that it waits for its program. */
const READY = 5;
/**
 * Of /workspace, and of /tmp: what both may hold together, and for each file the part of its last page that it leaves
 * empty.
 */
const SIZE = WORKSPACE_LIMITS.bytes + 4096 * WORKSPACE_LIMITS.files;

/** Starting is quick, but not on a machine that is busy. */
const START_MS = 15_000;

/** What to do where bubblewrap is there and does not start. */
export const ALLOW_NAMESPACES =
  "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, and on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0.";

/** Bubblewrap as this machine has it. Whether it may be used here only a run can tell. */
export async function findBubblewrap(): Promise<SandboxChoice> {
  if (platform() !== "linux") {
    return { ok: false, why: "bubblewrap is for Linux only", hint: "Install Docker and start it." };
  }
  const filter = seccompFilter(arch());
  if (filter === null) {
    return { ok: false, why: `bubblewrap is not used on ${arch()} processors`, hint: "Install Docker and start it." };
  }
  const program = await findProgram("bwrap");
  if (program === null) {
    return { ok: false, why: "bubblewrap is not installed", hint: "Install it: apt-get install bubblewrap." };
  }
  const python = await findPython();
  if (python === null) return { ok: false, why: "there is no Python 3", hint: "Install it: apt-get install python3." };
  const { stdout } = await promisify(execFile)(program, ["--version"]);
  const cgroups = await findCgroups();
  return {
    ok: true,
    sandbox: {
      kind: "bubblewrap",
      about: `${stdout.trim()}, Python ${python.version}`,
      limits: {
        memory: cgroups.ok ? "hard (cgroup v2)" : `watched, as there is no cgroup for it: ${cgroups.why}`,
        disk: `hard (file systems in memory of ${Math.round(SIZE / 2 ** 20)} MB)`,
        processes: "hard",
      },
      launch: ({ owner }) => ({
        program,
        args: bubblewrapArguments(python),
        env: {},
        owner,
        folder: "/",
        filter,
        cgroups: cgroups.ok ? cgroups.parent : null,
        startMs: START_MS,
      }),
    },
  };
}

/**
 * Everything unshared, nothing of the host but Python's own files, read-only. There is no /proc, no /sys, no /etc.
 * /workspace and /tmp are file systems in memory, of a size that cannot be passed: no way of writing reaches a disk.
 */
export function bubblewrapArguments(python: FoundPython): string[] {
  const readable = [python.program, ...python.library, ...python.shared];
  return [
    ["--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"],
    ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"],
    ["--seccomp", FILTER, "--json-status-fd", STATUS],
    ["--clearenv", ...Object.entries(environment(python)).flatMap(([name, value]) => ["--setenv", name, value])],
    readable.flatMap((path) => ["--ro-bind", path, path]),
    python.packages.flatMap((path) => ["--tmpfs", path, "--remount-ro", path]),
    ["--ro-bind-try", TIME_ZONES, TIME_ZONES],
    DEVICES.flatMap((device) => ["--dev-bind", device, device]),
    [TEMPORARY, INSIDE].flatMap((path) => ["--perms", "0700", "--size", String(SIZE), "--tmpfs", path]),
    ["--remount-ro", "/", "--chdir", INSIDE],
    ["--", python.program, ...PYTHON_FLAGS, "-c", pythonPreamble({ strict: true, ready: READY })],
  ].flat();
}

function environment({ shared }: FoundPython): Record<string, string> {
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: INSIDE,
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    TZ: "UTC",
    // Where the linker's own list, which lies in /etc, would have led.
    LD_LIBRARY_PATH: foldersOf(shared).join(":"),
  };
}
