import { UserError } from "../../domain/errors.js";
import { checkWritable } from "../../platform/atomic-file.js";
import { isSameFile } from "../../platform/same-file.js";
import { checkKind, isOfSqlite, type OutputKind } from "./detect-output-kind.js";

/** A file that a command would write; `path` is undefined where it was not requested. */
export interface OutputFile {
  readonly flag: string;
  readonly path: string | undefined;
  readonly kind: OutputKind;
}

/** A file that a command reads, with its name for messages. */
export interface InputFile {
  readonly name: string;
  readonly path: string | null | undefined;
}

/** Refuses outputs that cannot be written or would destroy another file, before anything is spent. */
export function checkOutputs(
  outputs: readonly OutputFile[],
  inputs: readonly InputFile[],
  { db, overwrite }: { readonly db: string; readonly overwrite: boolean },
): void {
  for (const [i, { flag, path, kind }] of outputs.entries()) {
    if (path === undefined) continue;
    checkWritable(flag, path);
    const others = outputs.slice(0, i).map((other) => ({ name: `${other.flag} too`, path: other.path }));
    refuseInputs({ flag, path }, [...inputs, ...others, { name: "the .env file", path: ".env" }], db);
    if (!overwrite) checkKind(flag, path, kind);
  }
}

/** Refuses an output that is an input of the command or a database, even with --overwrite. */
export function refuseInputs(
  { flag, path }: { readonly flag: string; readonly path: string },
  inputs: readonly InputFile[],
  db: string,
): void {
  const files = [
    { name: "the database", path: db },
    ...["wal", "shm", "journal"].map((end) => ({ name: "part of the database", path: `${db}-${end}` })),
    ...inputs,
  ];
  const taken = files.find((file) => typeof file.path === "string" && isSameFile(file.path, path));
  if (taken === undefined && !isOfSqlite(path)) return;
  throw new UserError(
    "output_is_input",
    `${flag}: ${path} is ${taken?.name ?? "a SQLite file"}, and would be destroyed.`,
    "Name another file.",
  );
}

/** The file of recorded replies that a model or a judge names (`replay/FILE`, `art:replay/FILE`). */
export function replayFile(model: string | undefined): string | undefined {
  return /^(?:art:)?replay\/(.+)$/s.exec(model ?? "")?.[1];
}
