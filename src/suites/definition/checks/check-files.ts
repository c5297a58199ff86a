import { type FileState, fileStateOf } from "../file-in-folder.js";
import type { SuiteFinding } from "../finding.js";
import { type NamedPath, namedPaths } from "../named-paths.js";
import { findingsOf, type TaskCheck } from "./check-context.js";

const MEANINGS = { input: "input", script: "script", gold: "gold file" } as const;

const FAULTS: Readonly<Record<FileState, { readonly code: string; readonly message: string } | null>> = {
  file: null,
  folder: { code: "file_is_folder", message: "is a folder" },
  missing: { code: "file_missing", message: "is not in %" },
  outside: { code: "path_outside", message: "is outside of %" },
  link: { code: "file_is_link", message: "leads over a link, which is not followed" },
  special: { code: "file_is_special", message: "is no regular file" },
};

type FilePath = NamedPath & { readonly kind: keyof typeof MEANINGS };

const isFilePath = (named: NamedPath): named is FilePath => named.kind in MEANINGS;

/** The inputs, scripts and golds that a task names are regular files of the suite. */
export const checkFiles: TaskCheck = (read, context) => {
  const { task, path } = read;
  const { error } = findingsOf(read, context);
  const isFlowbook = task.dialect === "flowbook";
  const [folder, where] = isFlowbook ? [path.folder, "the task's folder"] : [context.suite.root, "the suite's folder"];
  return namedPaths(read)
    .filter(isFilePath)
    .flatMap(({ kind, path: file, field }): SuiteFinding[] => {
      const what = `${MEANINGS[kind]} ${file}`;
      const fault = FAULTS[fileStateOf(folder, file)];
      if (fault === null || (kind === "input" && fault.code === "file_is_folder")) return [];
      return [error(fault.code, field, `${what} ${fault.message.replace("%", where)}`)];
    });
};
