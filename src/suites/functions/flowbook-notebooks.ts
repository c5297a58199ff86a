// Flowbook's evaluation functions for notebooks.
import { z } from "zod";
import { jsonObjectSchema } from "../../platform/json.js";
import {
  haveEqualOutputs,
  type NotebookCell,
  readNotebook,
  requireDict,
  requireKey,
  requireList,
  requireString,
} from "../formats/notebook.js";
import { equalValues, stripText } from "../formats/python-values.js";
import { parseArguments } from "../suite-folder.js";
import { areOutputsCleared, compareImages, isCellExecuted } from "./flowbook-files.js";
import { CannotGrade, collectFiles, type FlowbookFunction, filePair } from "./grading-function.js";

/**
 * Flowbook's `compare_notebook_cells`: equal numbers of cells, with equal types and stripped sources. Spider2-V does
 * not strip.
 */
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

/** The original function accepts no options. Any other argument is an error. */
const pairOnly = z.strictObject(filePair.shape);

/** Flowbook's `compare_notebook_outputs`. */
export const compareNotebookOutputs: FlowbookFunction = async (args, context) => {
  const { local_expected, vm_result } = parseArguments(pairOnly, args);
  const { result, expected } = await collectFiles(context, vm_result, local_expected);
  return Number(haveEqualOutputs(readNotebook(result), readNotebook(expected)));
};

/**
 * Flowbook's `compare_ipynb_files`: compares the type and stripped source of each cell, and for code cells also the
 * stripped texts of all streams, joined by newlines. Ignores data, errors and counts. Spider2-V compares the raw JSON.
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

/** Functions that `evaluate_multiple_notebooks` can combine. */
const NOTEBOOK_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
  compare_notebook_cells: compareNotebookCells,
  compare_notebook_outputs: compareNotebookOutputs,
  is_jupyter_cell_executed: isCellExecuted,
  compare_ipynb_files: compareIpynbFiles,
  compare_jupyterlab_images: compareImages,
  are_jupyter_outputs_cleared: areOutputsCleared,
};

const schema = z.strictObject({
  operator: z.string(),
  comparisons: z.array(z.looseObject({ func: z.unknown(), arguments: jsonObjectSchema.optional() })),
});

/** Flowbook's `evaluate_multiple_notebooks`: an unknown or failed comparison counts as 0. */
export const evaluateMultipleNotebooks: FlowbookFunction = async (args, context) => {
  const { operator, comparisons } = parseArguments(schema, args);
  const scores: number[] = [];
  for (const { func, arguments: comparisonArguments = {} } of comparisons) {
    const evaluate =
      typeof func === "string" && Object.hasOwn(NOTEBOOK_FUNCTIONS, func) ? NOTEBOOK_FUNCTIONS[func] : null;
    scores.push(
      (await evaluate?.(comparisonArguments, context).catch((error) => {
        if (error instanceof CannotGrade || context.signal.aborted) throw error;
        return 0;
      })) ?? 0,
    );
  }
  return combineScores(operator, scores);
};

/** Combines scores with `and` or `or`, in any case. Returns 0 for any other operator, or if there are no scores. */
export function combineScores(operator: string, scores: readonly number[]): number {
  if (scores.length === 0) return 0;
  const word = operator.toLowerCase();
  if (word === "and") return Number(scores.every((score) => score === 1));
  return word === "or" ? Number(scores.includes(1)) : 0;
}
