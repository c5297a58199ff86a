import { z } from "zod";
import { jsonObjectSchema } from "../../domain/json.js";
import { parseArguments } from "../definition/parse-arguments.js";
import { CannotGrade } from "../evaluation/cannot-grade.js";
import { areOutputsCleared, isCellExecuted } from "./check-cells.js";
import { compareImages } from "./compare-images.js";
import { compareIpynbFiles, compareNotebookCells, compareNotebookOutputs } from "./compare-notebooks.js";
import type { FlowbookFunction } from "./flowbook-function.js";

/** What it can combine. */
export const NOTEBOOK_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
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

/** Flowbook's `evaluate_multiple_notebooks`: an unknown comparison, or one that fails, counts as 0. */
export const evaluateMultipleNotebooks: FlowbookFunction = async (args, context) => {
  const { operator, comparisons } = parseArguments(schema, args);
  const scores: number[] = [];
  for (const { func, arguments: given = {} } of comparisons) {
    const evaluate =
      typeof func === "string" && Object.hasOwn(NOTEBOOK_FUNCTIONS, func) ? NOTEBOOK_FUNCTIONS[func] : null;
    scores.push(
      (await evaluate?.(given, context).catch((error) => {
        if (error instanceof CannotGrade || context.signal.aborted) throw error;
        return 0;
      })) ?? 0,
    );
  }
  return combineScores(operator, scores);
};

/** `and` or `or` in any case; another operator, or nothing to combine, is 0. */
export function combineScores(operator: string, scores: readonly number[]): number {
  if (scores.length === 0) return 0;
  const word = operator.toLowerCase();
  if (word === "and") return Number(scores.every((score) => score === 1));
  return word === "or" ? Number(scores.includes(1)) : 0;
}
