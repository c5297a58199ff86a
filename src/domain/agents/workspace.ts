/** Where a task's files lie on this machine, and who owns what is made there. */
export interface WorkspaceFolders {
  /** The files the agent sees. */
  readonly files: string;
  /** For the temporary files of programs; not shown to the agent. */
  readonly temporary: string;
  /** Whom new files belong to; null: whoever runs this program. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
}

/** Port: the files of one task. Its folder is made at the first use and gone when it is closed. */
export interface Workspace {
  /** Does one piece of work in it, never two at once. Throws after `close`. */
  use<T>(work: (folders: WorkspaceFolders) => Promise<T>): Promise<T>;
  /** Waits for the work under way, then removes everything. */
  close(): Promise<void>;
}
