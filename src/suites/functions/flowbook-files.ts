// Flowbook's evaluation functions for text files, images, CSV files and single cells.
import { posix } from "node:path";
import { z } from "zod";
import { type JsonObject, type JsonValue, jsonValueSchema } from "../../platform/json.js";
import { HOME, lastLine } from "../../sandbox/task-machine.js";
import { readCsv } from "../formats/csv-frame.js";
import {
  type Channel,
  correlate,
  decodeImage,
  type Image,
  isJpeg,
  normalizedHistogram,
  resizeByArea,
  toGreyscale,
} from "../formats/images.js";
import {
  areTextsEqual,
  findCells,
  isExecuted,
  type NotebookCell,
  readNotebook,
  requireDict,
} from "../formats/notebook.js";
import { equalFrames, type Frame, type FrameCell, type FrameColumn } from "../formats/pandas-frame.js";
import {
  compareStrings,
  decodeText,
  equalValues,
  fromJson,
  isList,
  isTruthy,
  stripText,
} from "../formats/python-values.js";
import { describeFailure, runFlowbookScript } from "../machines/machine-commands.js";
import { parseArguments } from "../suite-folder.js";
import { readCollectedFile, resolveSuiteFile } from "../task/suite-files.js";
import {
  CannotGrade,
  collectFiles,
  collectResult,
  type EvaluationContext,
  type FlowbookFunction,
  filePair,
  imagePair,
  scriptWithLog,
  textFilePair,
} from "./grading-function.js";

interface CsvOptions {
  readonly ignoreOrder: boolean;
  readonly ignoreCase: boolean;
  readonly strict: boolean;
}

/** Flowbook's `compare_text_file`. */
export const compareTextFile: FlowbookFunction = async (args, context) => {
  const { local_expected_file, vm_result_file } = parseArguments(textFilePair, args);
  const { result, expected } = await collectFiles(context, vm_result_file, local_expected_file);
  return Number(areTextsEqual(result, expected, args));
};

/**
 * Flowbook's `compare_script_logs`: runs a script of the task in the machine and searches the log that it writes. The
 * script is at /home/user/NAME, as in Flowbook's commit 485a525; its latest version creates a folder of that name. A
 * failed script is an error. If there is no other reason for it, the log is the reason.
 */
export const compareScriptLogs: FlowbookFunction = async (args, context) => {
  const { eval_script, vm_eval_logs } = parseArguments(scriptWithLog, args);
  const { path, result } = await runScript(eval_script, context);
  if (result.exitCode !== 0) {
    const log = await collectResult(context, vm_eval_logs).then(readCollectedFile, () => Buffer.from(""));
    const stderr = result.stderr.trim() || lastLine(log.toString("utf8"));
    throw new Error(describeFailure(path, { ...result, stderr }));
  }
  const log = decodeText(await readCollectedFile(await collectResult(context, vm_eval_logs)));
  return scoreLog(log, args.rules);
};

async function runScript(script: string, context: EvaluationContext) {
  const source = await resolveSuiteFile(context.task.folder, script);
  if (source === null) throw new CannotGrade("missing_files", `the script ${script} is missing from the task's folder`);
  const { machine, signal } = context;
  if (!machine.canRun) {
    throw new CannotGrade("unsupported", `it runs ${script}, but this machine only contains files`);
  }
  const path = posix.join(HOME, posix.basename(script));
  return { path, result: await runFlowbookScript(source, path, machine, signal) };
}

/**
 * Returns 1 if the log contains every `include` and no `exclude`. Without rules the score is 0, unlike in Spider2-V.
 */
export function scoreLog(log: string, rules: JsonValue | undefined): number {
  if (!isTruthy(rules)) return 0;
  const { include, exclude } = rules as JsonObject;
  return Number(
    textsOf(include).every((text) => log.includes(text)) && !textsOf(exclude).some((text) => log.includes(text)),
  );
}

function textsOf(list: JsonValue | undefined): readonly string[] {
  if (list === undefined) return [];
  if (isList(list) && list.every((text) => typeof text === "string")) return list;
  throw new Error("include and exclude must be lists of strings");
}

/**
 * Flowbook's `compare_jupyterlab_images`: shrinks the larger image to the size of the smaller one, and compares the
 * correlation of the grayscale histograms with the threshold. Positions in the image do not matter. Spider2-V compares
 * the green channel and requires exactly 1.
 */
export const compareImages: FlowbookFunction = async (args, context) => {
  const { local_expected_image, vm_result_image, similarity_threshold } = parseArguments(imagePair, args);
  const files = await collectFiles(context, vm_result_image, local_expected_image);
  const [gold, result] = [readImage(files.expected), readImage(files.result)];
  if (gold === null || result === null) return 0;
  const [a, b] = [greyscaleOf(gold), greyscaleOf(result)];
  const isGoldLarger = a.width * a.height > b.width * b.height;
  const first = isGoldLarger ? resizeByArea(a, b.width, b.height) : a;
  const second = isGoldLarger ? b : resizeByArea(b, a.width, a.height);
  const similarity = correlate(normalizedHistogram(first.values), normalizedHistogram(second.values));
  return Number(similarity >= similarity_threshold);
};

function readImage(bytes: Buffer): Image | null {
  if (isJpeg(bytes)) throw new CannotGrade("unsupported", "JPEG images are unsupported");
  return decodeImage(bytes);
}

const greyscaleOf = (image: Image): Channel => ({
  width: image.width,
  height: image.height,
  values: toGreyscale(image),
});

/**
 * Flowbook's `compare_csv`: reads both files like `pandas.read_csv`, so the spelling of numbers, quotes, line ends and
 * the order of columns do not matter, but types do. Spider2-V's function of this name compares lines of text.
 */
export const compareCsv: FlowbookFunction = async (args, context) => {
  const { local_expected, vm_result } = parseArguments(filePair, args);
  const { result, expected } = await collectFiles(context, vm_result, local_expected);
  const options = {
    ignoreOrder: isTruthy(args.ignore_order),
    ignoreCase: isTruthy(args.ignore_case),
    strict: args.strict === undefined || isTruthy(args.strict),
  };
  return Number(areFramesEqual(readCsv(result), readCsv(expected), options));
};

const checkCellsSchema = z.looseObject({
  vm_result: z.string(),
  expected: jsonValueSchema,
  version: z.literal(4, "only nbformat 4 is supported").optional(),
  cell_type: jsonValueSchema.optional(),
});

/**
 * Flowbook's `is_jupyter_cell_executed`: the indices of code cells without an execution count must equal the list.
 * Indices count all cells. An empty code cell counts as not executed.
 */
export const isCellExecuted: FlowbookFunction = async (args, context) => {
  const { vm_result, expected, cell_type = "code" } = parseArguments(checkCellsSchema, args);
  const cells = readNotebook(await readCollectedFile(await collectResult(context, vm_result)));
  const matches = findCells(cells, fromJson(cell_type), (cell) => !isExecuted(cell));
  return Number(equalValues(matches, fromJson(expected)));
};

/**
 * Flowbook's `are_jupyter_outputs_cleared`: the indices of code cells with an output of text, data or an error must
 * equal the list, in any order. Ignores execution counts, unlike Spider2-V.
 */
export const areOutputsCleared: FlowbookFunction = async (args, context) => {
  const { vm_result, expected, cell_type = "code" } = parseArguments(checkCellsSchema, args);
  const cells = readNotebook(await readCollectedFile(await collectResult(context, vm_result)));
  const matches = findCells(cells, fromJson(cell_type), hasOutput);
  const expectedItems = isList(expected) ? expected : [];
  return Number(equalValues(matches, [...expectedItems].sort((a, b) => Number(a) - Number(b)).map(fromJson)));
};

function hasOutput(cell: NotebookCell): boolean {
  const outputs = cell.get("outputs");
  if (!isTruthy(outputs) || !Array.isArray(outputs)) return false;
  return outputs.some((output) => {
    const dict = requireDict(output, "an output");
    return dict.has("text") || dict.has("data") || dict.has("ename");
  });
}

/**
 * Compares like `DataFrame.equals`. Columns are sorted by name, and rows by all columns. Depending on the options,
 * cells (never headers) are stripped and lowercased.
 */
function areFramesEqual(result: Frame, expected: Frame, options: CsvOptions): boolean {
  const [a, b] = [prepare(result, options), prepare(expected, options)];
  return equalFrames(a, b);
}

function prepare(frame: Frame, options: CsvOptions): Frame {
  const columns = frame.columns
    .toSorted((a, b) => compareStrings(String(a.name), String(b.name)))
    .map((column) => ({ ...column, values: column.values.map((cell) => normalize(cell, options)) }));
  return options.ignoreOrder ? sortRows({ ...frame, columns }) : { ...frame, columns };
}

function normalize(cell: FrameCell, options: CsvOptions): FrameCell {
  if (typeof cell !== "string") return cell;
  const stripped = options.strict ? cell : stripText(cell);
  return options.ignoreCase ? stripped.toLowerCase() : stripped;
}

/**
 * Sorts rows, with missing values last, and discards their labels. Text mixed with numbers cannot be sorted, and raises
 * in pandas.
 */
function sortRows(frame: Frame): Frame {
  for (const column of frame.columns) requireOneKind(column);
  const order = Array.from({ length: frame.rows }, (_, i) => i).sort((a, b) => {
    for (const { values } of frame.columns) {
      const difference = compareCells(values[a] as FrameCell, values[b] as FrameCell);
      if (difference !== 0) return difference;
    }
    return 0;
  });
  const columns = frame.columns.map((column) => ({
    ...column,
    values: order.map((row) => column.values[row] as FrameCell),
  }));
  return { columns, rows: frame.rows, index: null };
}

function requireOneKind({ name, values }: FrameColumn): void {
  const isText = values.filter((cell) => !Number.isNaN(cell)).map((cell) => typeof cell === "string");
  if (isText.includes(true) && isText.includes(false)) {
    throw new Error(`column ${String(name)} contains both text and numbers, and cannot be sorted`);
  }
}

function compareCells(a: FrameCell, b: FrameCell): number {
  const [aMissing, bMissing] = [Number.isNaN(a), Number.isNaN(b)];
  if (aMissing || bMissing) return Number(aMissing) - Number(bMissing);
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
