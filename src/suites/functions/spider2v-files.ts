// Spider2-V's evaluation functions for files and text.
import type { JsonObject, JsonValue } from "../../platform/json.js";
import {
  type Channel,
  correlate,
  decodeImage,
  type Image,
  isJpeg,
  normalizedHistogram,
  resizeLinearly,
} from "../formats/images.js";
import {
  areTextsEqual,
  findCells,
  haveEqualOutputs,
  isExecuted,
  matchingRatio,
  type NotebookCell,
  readNotebook,
  requireKey,
} from "../formats/notebook.js";
import {
  compareStrings,
  decodeText,
  decodeTextLeniently,
  equalValues,
  formatValue,
  fromJson,
  isDict,
  isList,
  isTruthy,
  type PythonValue,
  parsePythonJson,
  splitLines,
  stripText,
} from "../formats/python-values.js";
import { readCollectedFile } from "../task/suite-files.js";
import {
  CannotGrade,
  type Collected,
  type MetricFunction,
  readPair,
  refuseOptions,
  requireFile,
  requireObject,
  requireValue,
} from "./grading-function.js";

/**
 * `check_include_exclude`: searches a script's output for substrings. Without rules the score is 1, unlike in Flowbook.
 */
export const checkIncludeExclude: MetricFunction = (result, expected, options) => {
  refuseOptions(options);
  const rules = requireObject(expected, "the rule");
  const output = requireValue(result, "the output");
  if (output === null) return 0;
  const contains = (text: JsonValue) => {
    if (typeof output === "string" && typeof text === "string") return output.includes(text);
    if (isList(output)) return isAmong(text, output);
    throw new Error("the output or a rule is not a string");
  };
  const [include, exclude] = [listOf(rules.include), listOf(rules.exclude)];
  return Number(include.every(contains) && !exclude.some(contains));
};

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined) return [];
  if (typeof value === "string") return [...value];
  if (isList(value)) return value;
  throw new Error("include and exclude must be lists");
}

/** `exact_match`: Python's `==` with the rule's `expected`. 1 equals 1.0, and a final newline matters. */
export const exactMatch: MetricFunction = (result, expected, options) => {
  refuseOptions(options);
  const value = requireValue(result, "the result");
  return Number(equalValues(fromJson(value), fromJson(requireValueKey(expected, "expected"))));
};

/** `literal_match`: compares as strings or lists of strings. Options are type, ignore_case and ignore_order. */
export const literalMatch: MetricFunction = (result, expected, options) => {
  const [value, other] = [requireValue(result, "the result"), requireValue(expected, "the expected value")];
  const type = options.type ?? "str";
  const fold = (item: JsonValue) =>
    isTruthy(options.ignore_case) ? formatValue(item).toLowerCase() : formatValue(item);
  if (type === "str") return Number(fold(value) === fold(other));
  if (type !== "list") throw new Error(`unknown literal_match type ${formatValue(type)}`);
  if (!isList(value) || !isList(other) || value.length !== other.length) return 0;
  const [texts, others] = [value.map(fold), other.map(fold)];
  if (isTruthy(options.ignore_order)) for (const list of [texts, others]) list.sort(compareStrings);
  return Number(texts.every((text, i) => text === others[i]));
};

/** `is_in_list`: the rule's `expected` is in the result, or a substring of it. */
export const isInList: MetricFunction = (result, expected) => {
  return Number(isAmong(requireValueKey(expected, "expected"), requireValue(result, "the result")));
};

/** `is_not_in_list`: the rule's `exclude` is not in the result. */
export const isNotInList: MetricFunction = (result, expected) => {
  return Number(!isAmong(requireValueKey(expected, "exclude"), requireValue(result, "the result")));
};

function requireValueKey(expected: Parameters<MetricFunction>[1], key: string): JsonValue {
  const value = requireObject(expected, "the rule")[key];
  if (value === undefined) throw new Error(`the rule has no ${key}`);
  return value;
}

/** Python's `in`. */
function isAmong(item: JsonValue, container: JsonValue): boolean {
  if (isList(container)) return container.some((other) => equalValues(fromJson(item), fromJson(other)));
  if (typeof container === "string" && typeof item === "string") return container.includes(item);
  throw new Error("the result is not a list");
}

/** Returns the score of a comparison, or 0 if the comparison fails. */
async function scoreOrZero(isEqual: () => Promise<boolean>): Promise<number> {
  try {
    return Number(await isEqual());
  } catch {
    return 0;
  }
}

/** Spider2-V's `compare_notebook_outputs`. */
export const compareNotebookOutputs: MetricFunction = (result, expected, options) => {
  refuseOptions(options);
  return comparePair(result, expected, (a, b) => haveEqualOutputs(readNotebook(a), readNotebook(b)));
};

/** Spider2-V's `compare_notebook_cells`, which does not strip sources, unlike Flowbook's. */
export const compareNotebookCells: MetricFunction = (result, expected, options) => {
  refuseOptions(options);
  return comparePair(result, expected, (a, b) => {
    const [cells, others] = [readNotebook(a), readNotebook(b)];
    if (cells.length !== others.length) return false;
    return cells.every((cell, i) =>
      ["cell_type", "source"].every((key) =>
        equalValues(requireKey(cell, key), requireKey(others[i] as NotebookCell, key)),
      ),
    );
  });
};

/**
 * Spider2-V's `compare_ipynb_files`: compares the raw JSON. The top-level keys are compared pairwise, in the order of
 * the files, up to the end of the shorter file. Skips only `metadata`. Flowbook compares sources and streams.
 */
export const compareIpynbFiles: MetricFunction = (result, expected) => {
  return comparePair(result, expected, (a, b) => {
    const [entries, others] = [readEntries(a), readEntries(b)];
    const length = Math.min(entries.length, others.length);
    return entries.slice(0, length).every(([key, value], i) => {
      const [otherKey, other] = others[i] as [PythonValue, PythonValue];
      return key === otherKey && (key === "metadata" || equalValues(value, other));
    });
  });
};

function readEntries(bytes: Buffer): [PythonValue, PythonValue][] {
  const text = decodeText(bytes);
  const notebook = parsePythonJson(text);
  if (!isDict(notebook)) throw new Error("not a notebook");
  return [...notebook];
}

async function comparePair(
  result: Collected,
  expected: Collected | undefined,
  isEqual: (result: Buffer, expected: Buffer) => boolean,
): Promise<number> {
  const gold = requireFile(expected, "the expected file");
  return await scoreOrZero(async () => {
    const files = await readPair(result, gold);
    return files !== null && isEqual(files.result, files.expected);
  });
}

/**
 * Spider2-V's `is_jupyter_cell_executed`: the indices of code cells without an execution count must equal the rule's
 * list.
 */
export const isCellExecuted: MetricFunction = (result, expected, options) =>
  compareIndices(result, expected, options, (cell) => !isExecuted(cell));

/** Spider2-V's `are_jupyter_outputs_cleared`, which checks execution counts, not outputs. */
export const areOutputsCleared: MetricFunction = (result, expected, options) =>
  compareIndices(result, expected, options, isExecuted);

async function compareIndices(
  result: Collected,
  expected: Collected | undefined,
  options: JsonObject,
  holds: (cell: NotebookCell) => boolean,
): Promise<number> {
  if (expected === undefined) throw new Error("the rule is missing");
  return await scoreOrZero(async () => {
    if (options.version !== undefined && options.version !== 4) throw new Error("only nbformat 4 is supported");
    const cells = readNotebook(await readCollectedFile(requireFile(result, "the result").path));
    const expectedValue = requireObject(expected, "the rule").expected;
    const matches = findCells(cells, fromJson(options.cell_type ?? "code"), holds);
    return expectedValue !== undefined && equalValues(matches, fromJson(expectedValue));
  });
}

/**
 * Spider2-V's `compare_jupyterlab_images`: histograms of the green channel must correlate with exactly 1, after the
 * wider image is resized to the width of the other. A missing or broken image raises.
 */
export const compareImages: MetricFunction = async (result, expected, options) => {
  refuseOptions(options);
  if (expected === undefined) throw new Error("the expected file is missing");
  const files = result === null || expected === null ? null : await readPair(result, expected);
  if (files === null) return 0;
  const [a, b] = [greenOf(readImage(files.result)), greenOf(readImage(files.expected))];
  const isFirstLarger = a.width > b.width || (a.width === b.width && a.height > b.height);
  const first = isFirstLarger ? bringToWidth(a, b.width) : a;
  const second = isFirstLarger ? b : bringToWidth(b, a.width);
  return Number(correlate(normalizedHistogram(first.values), normalizedHistogram(second.values)) === 1);
};

function bringToWidth(image: Channel, width: number): Channel {
  return resizeLinearly(image, width, Math.trunc((image.height * width) / image.width));
}

function readImage(bytes: Buffer): Image {
  if (isJpeg(bytes)) throw new CannotGrade("unsupported", "JPEG images are unsupported");
  const image = decodeImage(bytes);
  if (image === null) throw new Error("not an image");
  return image;
}

const greenOf = ({ width, height, green }: Image): Channel => ({ width, height, values: green });

/**
 * Spider2-V's `compare_csv`: compares lines of text, so quotes, blank lines, the header's case and the spelling of
 * numbers matter. Drops bytes that are not UTF-8. The options apply to entire lines. Flowbook's function reads tables.
 */
export const spider2vCompareCsv: MetricFunction = async (result, expected, options) => {
  const files = await readPair(result, expected);
  if (files === null) return 0;
  const [lines, others] = [linesOf(files.result, options), linesOf(files.expected, options)];
  return Number(lines.length === others.length && lines.every((line, i) => line === others[i]));
};

function linesOf(bytes: Buffer, options: JsonObject): string[] {
  const isStrict = options.strict === undefined || isTruthy(options.strict);
  const lines = splitLines(decodeTextLeniently(bytes))
    .map((line) => (isStrict ? line : stripText(line)))
    .map((line) => (isTruthy(options.ignore_case) ? line.toLowerCase() : line));
  return isTruthy(options.ignore_order) ? lines.sort(compareStrings) : lines;
}

/** Spider2-V's `compare_text_file`. Text that is not UTF-8 raises. */
export const spider2vCompareTextFile: MetricFunction = async (result, expected, options) => {
  const files = await readPair(result, expected);
  return files === null ? 0 : Number(areTextsEqual(files.result, files.expected, options));
};

/** `compare_sql`: the texts must be identical. */
export const compareSql: MetricFunction = async (result, expected) => {
  const files = await readPair(result, expected);
  return files === null ? 0 : Number(decodeText(files.result) === decodeText(files.expected));
};

/**
 * `compare_json_file`: Python's `==`, so true equals 1 and the order of lists matters. A missing or broken file raises.
 */
export const compareJsonFile: MetricFunction = async (result, expected) => {
  const [value, other] = await Promise.all([
    readJson(requireFile(result, "the result").path),
    readJson(requireFile(expected, "the expected file").path),
  ]);
  return Number(equalValues(value, other));
};

async function readJson(path: string) {
  const text = decodeText(await readCollectedFile(path));
  if (text.startsWith("\ufeff")) throw new Error("JSON with a byte order mark");
  return parsePythonJson(text);
}

/** `diff_text_file`: the ratio of difflib's SequenceMatcher over lines, from 0 to 1. */
export const diffTextFile: MetricFunction = async (result, expected, options) => {
  refuseOptions(options);
  const files = await readPair(result, expected);
  if (files === null) return 0;
  return matchingRatio(splitLines(decodeText(files.result)), splitLines(decodeText(files.expected)));
};
