/** A task's folders on this machine, and the owner of new files. */
export interface WorkspaceFolders {
  /** The files the agent sees. */
  readonly files: string;
  /** For the temporary files of programs; not shown to the agent. */
  readonly temporary: string;
  /** Owner of new files; null: the user of this process. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}

/** Port: the files of one task. Its folder is created at the first use and removed on close. */
export interface Workspace {
  /** Runs `work` in it, one at a time. Throws after `close`. */
  use<T>(work: (folders: WorkspaceFolders) => Promise<T>): Promise<T>;
  /** Waits for running work, then removes the folder. */
  close(): Promise<void>;
}
