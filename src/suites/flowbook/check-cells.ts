import { z } from "zod";
import { jsonValueSchema } from "../../domain/json.js";
import { parseArguments } from "../definition/parse-arguments.js";
import { readCollectedFile } from "../evaluation/suite-files.js";
import { findCells, isExecuted, type NotebookCell, readNotebook, requireDict } from "../formats/notebook.js";
import { equalValues, fromJson, isList, isTruthy } from "../formats/python/values.js";
import { collectResult, type FlowbookFunction } from "./flowbook-function.js";

const schema = z.looseObject({
  vm_result: z.string(),
  expected: jsonValueSchema,
  version: z.literal(4, "only nbformat 4 is read").optional(),
  cell_type: jsonValueSchema.optional(),
});

/**
 * Flowbook's `is_jupyter_cell_executed`: the indices over all cells of code cells without an execution count must equal
 * the list. An empty code cell counts as not executed.
 */
export const isCellExecuted: FlowbookFunction = async (args, context) => {
  const { vm_result, expected, cell_type = "code" } = parseArguments(schema, args);
  const cells = readNotebook(await readCollectedFile(await collectResult(context, vm_result)));
  const found = findCells(cells, fromJson(cell_type), (cell) => !isExecuted(cell));
  return Number(equalValues(found, fromJson(expected)));
};

/**
 * Flowbook's `are_jupyter_outputs_cleared`: the indices of code cells with an output of text, data or an error must
 * equal the list, in any order. The execution count is not looked at, unlike in Spider2-V.
 */
export const areOutputsCleared: FlowbookFunction = async (args, context) => {
  const { vm_result, expected, cell_type = "code" } = parseArguments(schema, args);
  const cells = readNotebook(await readCollectedFile(await collectResult(context, vm_result)));
  const found = findCells(cells, fromJson(cell_type), hasOutput);
  const listed = isList(expected) ? expected : [];
  return Number(equalValues(found, [...listed].sort((a, b) => Number(a) - Number(b)).map(fromJson)));
};

function hasOutput(cell: NotebookCell): boolean {
  const outputs = cell.get("outputs");
  if (!isTruthy(outputs) || !Array.isArray(outputs)) return false;
  return outputs.some((output) => {
    const dict = requireDict(output, "an output");
    return dict.has("text") || dict.has("data") || dict.has("ename");
  });
}
