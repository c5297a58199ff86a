import { readFile } from "node:fs/promises";
import { arch, platform } from "node:os";
import { type CgroupParent, findCgroups } from "../bubblewrap/cgroup.js";
import { seccompFilter } from "../bubblewrap/seccomp-filter.js";
import { type FoundPython, findProgram, findPython } from "../find-python.js";

/** What machines for tasks are made of here. */
export interface MachineHost {
  /** Path of bwrap. */
  readonly program: string;
  readonly python: FoundPython;
  readonly filter: Buffer;
  /** The source files of the machine's first process, by name. */
  readonly guest: Readonly<Record<string, string>>;
  readonly cgroups: CgroupParent | null;
  /** How the limit on memory is kept. */
  readonly memory: string;
}

export type MachineHostChoice =
  | { readonly ok: true; readonly host: MachineHost }
  | { readonly ok: false; readonly why: string; readonly hint: string };

let found: Promise<MachineHostChoice> | undefined;

/** Looked for once per process. Whether machines do start here only a start can tell. */
export function findMachineHost(): Promise<MachineHostChoice> {
  found ??= look();
  return found;
}

async function look(): Promise<MachineHostChoice> {
  const filter = seccompFilter(arch(), { loopback: true });
  if (platform() !== "linux" || filter === null) {
    return { ok: false, why: `bubblewrap is not used on ${platform()} ${arch()}`, hint: "Use Linux on x64 or arm64." };
  }
  const [program, python, cgroups] = await Promise.all([findProgram("bwrap"), findPython(), findCgroups()]);
  if (program === null || python === null) {
    const missing = [program === null ? "bubblewrap" : [], python === null ? "python3" : []].flat();
    return { ok: false, why: `not installed: ${missing.join(", ")}`, hint: `apt-get install ${missing.join(" ")}` };
  }
  return {
    ok: true,
    host: {
      program,
      python,
      filter,
      guest: await readGuest(),
      cgroups: cgroups.ok ? cgroups.parent : null,
      memory: cgroups.ok ? "hard (cgroup v2)" : `watched, as there is no cgroup for it: ${cgroups.why}`,
    },
  };
}

async function readGuest(): Promise<Record<string, string>> {
  const folder = new URL("./guest/", import.meta.url);
  const names = ["__main__.py", "commands.py", "files.py", "limits.py"];
  const files = names.map(async (name) => [name, await readFile(new URL(name, folder), "utf8")] as const);
  return Object.fromEntries(await Promise.all(files));
}
