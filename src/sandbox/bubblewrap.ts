import { execFile } from "node:child_process";
import { arch, platform } from "node:os";
import { promisify } from "node:util";
import type { WorkspaceFolders } from "../domain/workspace.js";
import { type FoundPython, findProgram, findPython, foldersOf } from "./find-python.js";
import { INSIDE } from "./open-inside.js";
import { PYTHON_FLAGS, pythonPreamble } from "./preamble.js";
import type { SandboxChoice } from "./python-sandbox.js";
import { seccompFilter } from "./seccomp-filter.js";

/** The only devices there are. */
const DEVICES = ["/dev/null", "/dev/zero", "/dev/urandom"];
/** Public data, and nothing of which zone this machine is in. */
const TIME_ZONES = "/usr/share/zoneinfo";
/** Descriptors that `Launch.filter` and bwrap's status are on. */
const FILTER = "3";
const STATUS = "4";

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
  return {
    ok: true,
    sandbox: {
      kind: "bubblewrap",
      about: `${stdout.trim()}, Python ${python.version}`,
      launch: (folders) => ({
        program,
        args: bubblewrapArguments(python, folders),
        env: {},
        owner: folders.owner,
        folder: "/",
        filter,
        startMs: 0,
      }),
    },
  };
}

/**
 * Everything unshared, nothing of the host but Python's own files, read-only, and the workspace. There is no /proc, no
 * /sys, no /etc. /tmp is a folder of the host that counts as the workspace does: a tmpfs bounds bytes, but not the
 * kernel memory that millions of empty files take.
 */
export function bubblewrapArguments(python: FoundPython, { files, temporary }: WorkspaceFolders): string[] {
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
    ["--bind", temporary, "/tmp", "--bind", files, INSIDE, "--remount-ro", "/", "--chdir", INSIDE],
    ["--", python.program, ...PYTHON_FLAGS, "-c", pythonPreamble(true)],
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
