import type { WorkspaceFolders } from "../domain/agents/workspace.js";
import type { CgroupParent } from "./bubblewrap/cgroup.js";

/** One way to run Python apart from the rest of the machine; `launch` says how to start it for a workspace. */
export interface PythonSandbox {
  readonly kind: "bubblewrap" | "docker" | "host";
  /** What it is made of, with versions. */
  readonly about: string;
  /** Which limits hold by themselves, and which by a look at what is used, every 50 ms. */
  readonly limits: Readonly<Record<"memory" | "disk" | "processes", string>>;
  launch(folders: WorkspaceFolders): Launch;
}

/** A program to be started. It reads the Python source from stdin. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  /** Its whole environment; null: this process's. */
  readonly env: Readonly<Record<string, string>> | null;
  /** Whom to start it as; null: as whoever runs this program. */
  readonly owner: WorkspaceFolders["owner"];
  /** Folder to start it in. */
  readonly folder: string;
  /**
   * Where given, descriptor 3 reads this, bwrap's status is written to descriptor 4, and Python writes to descriptor 5
   * when it waits for its program; /workspace and /tmp are the sandbox's own.
   */
  readonly filter: Buffer | null;
  /** Where its processes can be bound in memory and number all together. */
  readonly cgroups: CgroupParent | null;
  /** What starting may take beyond the time that Python has. */
  readonly startMs: number;
  /** Stops what a kill of the program itself would not reach. */
  readonly stop?: () => Promise<void>;
}

/** The sandbox that works on this machine, or why there is none and what to do. */
export type SandboxChoice =
  | { readonly ok: true; readonly sandbox: PythonSandbox }
  | { readonly ok: false; readonly why: string; readonly hint: string };
