import type { MachineResultView } from "../../html/machine-results.js";
import { count } from "../../text/format-number.js";
import { type Child, h, untrustedInline, untrustedText } from "../shared/dom.js";

/** Outputs of more characters are collapsed. */
const LONG = 1_500;

/** What a command printed, a file holds or a notebook shows. */
export function machineResult(view: MachineResultView): HTMLElement {
  switch (view.kind) {
    case "command":
      return h("div", { class: "output" }, ...commandOutput(view));
    case "file":
      return h("div", { class: "output" }, outputText(view.content), h("p", { class: "meta" }, fileNote(view)));
    case "notebook":
      return h("div", { class: "output" }, ...notebookOutputs(view));
  }
}

function commandOutput({
  stdout,
  stderr,
  exitCode,
  stopped,
}: Extract<MachineResultView, { kind: "command" }>): Child[] {
  return [
    stdout.trim() === "" ? null : outputText(stdout),
    stderr.trim() === "" ? null : h("div", { class: "stderr" }, outputText(stderr)),
    exitCode === 0 ? null : h("p", { class: "exit" }, stopped ?? `exit code ${exitCode ?? "none"}`),
    stdout.trim() + stderr.trim() === "" && exitCode === 0 ? h("p", { class: "meta" }, "no output") : null,
  ];
}

function fileNote({ firstLine, lastLine, totalLines }: Extract<MachineResultView, { kind: "file" }>): string {
  return totalLines === 0 ? "empty file" : `lines ${firstLine} to ${lastLine} of ${count(totalLines)}`;
}

function notebookOutputs({ outputs, stopped }: Extract<MachineResultView, { kind: "notebook" }>): Child[] {
  return [
    ...outputs.flatMap(({ cell, text, error }) => [
      h("p", { class: "meta" }, `cell ${cell}`),
      text.trim() === "" ? null : outputText(text),
      error === null ? null : h("p", { class: "exit" }, untrustedInline(error)),
    ]),
    outputs.length === 0 ? h("p", { class: "meta" }, "no output") : null,
    stopped === null ? null : h("p", { class: "exit" }, untrustedInline(stopped)),
  ];
}

function outputText(text: string): HTMLElement {
  const shown = untrustedText(text.replace(/\n$/, ""), "text code");
  if (text.length <= LONG) return shown;
  return h("details", {}, h("summary", {}, `${count(text.length)} characters`), shown);
}
