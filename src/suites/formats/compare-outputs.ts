import { type NotebookCell, requireDict, requireKey, requireList, requireString } from "./notebook.js";
import { equalValues, isDict, type PythonDict, type PythonValue } from "./python/values.js";

/** Lines that pip prints, which differ from machine to machine. */
const PIP = ["Requirement already satisfied:", "Successfully installed"];

/**
 * `compare_notebook_outputs`, which both suites have in the same words. Sources, markdown and counts are not looked at.
 * Of each code cell the streams named stdout and the outputs with text/plain must be equal in number and order: streams
 * as a whole, so that one split in two differs, the others by text/plain. Streams with pip's lines are dropped from the
 * result only. Throws where a stream stands against another kind of output, as the origin does.
 */
export function haveEqualOutputs(result: readonly NotebookCell[], expected: readonly NotebookCell[]): boolean {
  if (result.length !== expected.length) return false;
  return result.every((cell, i) => {
    const other = expected[i] as NotebookCell;
    const type = requireKey(cell, "cell_type");
    if (!equalValues(type, requireKey(other, "cell_type"))) return false;
    if (type !== "code") return true;
    const outputs = outputsOf(cell).filter(
      (output) => (isStdout(output) && !isFromPip(output)) || hasPlainText(output),
    );
    const others = outputsOf(other).filter((output) => isStdout(output) || hasPlainText(output));
    return (
      outputs.length === others.length && outputs.every((output, k) => isEqualOutput(output, others[k] as PythonDict))
    );
  });
}

function isEqualOutput(output: PythonDict, other: PythonDict): boolean {
  if (output.has("name") && !equalValues(output, other)) return false;
  if (!output.has("data")) return true;
  return equalValues(plainTextOf(output), plainTextOf(other));
}

const outputsOf = (cell: NotebookCell) =>
  requireList(requireKey(cell, "outputs"), "outputs").map((output) => requireDict(output, "an output"));

const isStdout = (output: PythonDict) => output.get("name") === "stdout";

/** Lines that were not joined, for want of an `output_type`, are compared one by one. */
function isFromPip(output: PythonDict): boolean {
  const text = requireKey(output, "text");
  if (Array.isArray(text)) return PIP.some((line) => text.includes(line));
  return PIP.some((line) => requireString(text, "stream").includes(line));
}

function hasPlainText(output: PythonDict): boolean {
  const data = output.get("data");
  return isDict(data) && data.has("text/plain");
}

const plainTextOf = (output: PythonDict): PythonValue =>
  requireKey(requireDict(requireKey(output, "data"), "data"), "text/plain");
