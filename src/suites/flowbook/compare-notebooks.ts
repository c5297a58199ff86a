import { z } from "zod";
import { parseArguments } from "../definition/parse-arguments.js";
import { haveEqualOutputs } from "../formats/compare-outputs.js";
import {
  type NotebookCell,
  readNotebook,
  requireDict,
  requireKey,
  requireList,
  requireString,
} from "../formats/notebook.js";
import { stripText } from "../formats/python/text.js";
import { equalValues } from "../formats/python/values.js";
import { collectFiles, type FlowbookFunction, filePair } from "./flowbook-function.js";

/** Flowbook's `compare_notebook_cells`: as many cells, equal types and stripped sources. Spider2-V does not strip. */
export const compareNotebookCells: FlowbookFunction = async (args, context) => {
  const { local_expected, vm_result } = parseArguments(filePair, args);
  const { result, expected } = await collectFiles(context, vm_result, local_expected);
  const [cells, others] = [readNotebook(result), readNotebook(expected)];
  const isEqual =
    cells.length === others.length &&
    cells.every((cell, i) => {
      const other = others[i] as NotebookCell;
      if (!equalValues(requireKey(cell, "cell_type"), requireKey(other, "cell_type"))) return false;
      return sourceOf(cell) === sourceOf(other);
    });
  return Number(isEqual);
};

/** Takes no options at the origin, where another argument is an error. */
const pairOnly = z.strictObject(filePair.shape);

/** Flowbook's `compare_notebook_outputs`. */
export const compareNotebookOutputs: FlowbookFunction = async (args, context) => {
  const { local_expected, vm_result } = parseArguments(pairOnly, args);
  const { result, expected } = await collectFiles(context, vm_result, local_expected);
  return Number(haveEqualOutputs(readNotebook(result), readNotebook(expected)));
};

/**
 * Flowbook's `compare_ipynb_files`: type and stripped source of each cell and, of code cells, the stripped texts of all
 * streams joined by newlines; data, errors and counts are not looked at. Spider2-V compares the raw JSON.
 */
export const compareIpynbFiles: FlowbookFunction = async (args, context) => {
  const { local_expected, vm_result } = parseArguments(filePair, args);
  const { result, expected } = await collectFiles(context, vm_result, local_expected);
  const [cells, others] = [readNotebook(result).map(summarize), readNotebook(expected).map(summarize)];
  return Number(equalValues(cells, others));
};

function summarize(cell: NotebookCell) {
  const type = cell.get("cell_type") ?? null;
  const source = stripText(requireString(cell.get("source") ?? "", "source"));
  if (type !== "code") return [type, source];
  const texts = requireList(cell.get("outputs") ?? [], "outputs")
    .map((output) => requireDict(output, "an output"))
    .filter((output) => output.has("text"))
    .map((output) => stripText(requireString(output.get("text"), "stream")));
  return [type, source, texts.join("\n")];
}

const sourceOf = (cell: NotebookCell) => stripText(requireString(requireKey(cell, "source"), "source"));
