/** The result of a tool that works in a task's machine, classified by its shape, whatever the tool is called. */
export type MachineResultView =
  | {
      readonly kind: "command";
      readonly stdout: string;
      readonly stderr: string;
      /** Null: it was stopped. */
      readonly exitCode: number | null;
      /** Why it was stopped. */
      readonly stopped: string | null;
    }
  | {
      readonly kind: "file";
      readonly path: string;
      readonly content: string;
      readonly firstLine: number;
      readonly lastLine: number;
      readonly totalLines: number;
    }
  | {
      readonly kind: "notebook";
      readonly path: string;
      readonly outputs: readonly NotebookOutput[];
      readonly stopped: string | null;
    };

export interface NotebookOutput {
  readonly cell: number;
  readonly text: string;
  readonly error: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** Null where it is the result of another tool. */
export function readMachineResult(value: unknown): MachineResultView | null {
  if (!isRecord(value)) return null;
  return readCommand(value) ?? readFile(value) ?? readNotebook(value);
}

function readCommand({ stdout, stderr, exit_code, stopped }: Fields): MachineResultView | null {
  if (typeof stdout !== "string" || typeof stderr !== "string") return null;
  if (exit_code !== null && typeof exit_code !== "number") return null;
  return { kind: "command", stdout, stderr, exitCode: exit_code, stopped: textOf(stopped) };
}

function readFile({ path, content, first_line, last_line, total_lines }: Fields): MachineResultView | null {
  if (typeof path !== "string" || typeof content !== "string") return null;
  if (typeof first_line !== "number" || typeof last_line !== "number" || typeof total_lines !== "number") return null;
  return { kind: "file", path, content, firstLine: first_line, lastLine: last_line, totalLines: total_lines };
}

function readNotebook({ path, outputs, stopped }: Fields): MachineResultView | null {
  if (typeof path !== "string" || !Array.isArray(outputs)) return null;
  const read = outputs.flatMap((output): NotebookOutput[] => {
    if (!isRecord(output) || typeof output.cell !== "number") return [];
    const error = isRecord(output.error) ? `${textOf(output.error.name)}: ${textOf(output.error.message)}` : null;
    return [{ cell: output.cell, text: textOf(output.text) ?? "", error }];
  });
  return { kind: "notebook", path, outputs: read, stopped: textOf(stopped) };
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
