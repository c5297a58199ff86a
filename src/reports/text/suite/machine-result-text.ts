import type { MachineResultView } from "../../html/machine-results.js";
import { count } from "../format-number.js";

/** What a command printed, a file holds or a notebook shows; `shorten` cuts long texts. */
export function machineResultText(view: MachineResultView, shorten: (text: string) => string): string {
  switch (view.kind) {
    case "command":
      return commandText(view, shorten);
    case "file":
      return [
        shorten(view.content),
        `(lines ${view.firstLine} to ${view.lastLine} of ${count(view.totalLines)} of ${view.path})`,
      ].join("\n");
    case "notebook":
      return notebookText(view, shorten);
  }
}

function commandText(
  { stdout, stderr, exitCode, stopped }: Extract<MachineResultView, { kind: "command" }>,
  shorten: (text: string) => string,
): string {
  const printed = [
    ...(stdout.trim() === "" ? [] : [shorten(stdout.trimEnd())]),
    ...(stderr.trim() === "" ? [] : ["stderr:", shorten(stderr.trimEnd())]),
  ];
  if (exitCode !== 0) return [...printed, stopped ?? `exit code ${exitCode ?? "none"}`].join("\n");
  return printed.length === 0 ? "(no output)" : printed.join("\n");
}

function notebookText(
  { path, outputs, stopped }: Extract<MachineResultView, { kind: "notebook" }>,
  shorten: (text: string) => string,
): string {
  const cells = outputs.flatMap(({ cell, text, error }) => [
    `cell ${cell}:`,
    ...(text.trim() === "" ? [] : [shorten(text.trimEnd())]),
    ...(error === null ? [] : [error]),
  ]);
  return [`${path}${outputs.length === 0 ? ": no output" : ""}`, ...cells, ...(stopped === null ? [] : [stopped])].join(
    "\n",
  );
}
