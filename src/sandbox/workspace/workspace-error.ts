/** An error of a path or file that the caller can fix; the message is for them. */
export class WorkspaceRefusal extends Error {
  override readonly name = "WorkspaceRefusal";
}

/** Translates a system error about a workspace path; other errors are returned unchanged. */
export function refusalOf(error: unknown, path: string): unknown {
  const meaning = MEANINGS[(error as NodeJS.ErrnoException).code ?? ""];
  return meaning === undefined ? error : new WorkspaceRefusal(`${path} ${meaning}`);
}

const MEANINGS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist in the workspace. list_files shows what there is.",
  ENOTDIR: "goes through something that is not a folder.",
  EISDIR: "is a folder.",
  ELOOP: "is or goes through a symbolic link, which is not followed.",
  EACCES: "may not be opened: its permissions forbid it.",
  EPERM: "may not be opened: its permissions forbid it.",
  ENXIO: "is not a regular file.",
  ENODEV: "is not a regular file.",
  ENAMETOOLONG: "is too long for a path.",
  EINVAL: "is not a usable path.",
  ENOSPC: "could not be written: the disk is full.",
  EDQUOT: "could not be written: the disk is full.",
};
