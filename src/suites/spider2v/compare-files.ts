import type { JsonObject } from "../../domain/json.js";
import { readCollectedFile } from "../evaluation/suite-files.js";
import { areTextsEqual } from "../formats/compare-texts.js";
import { parsePythonJson } from "../formats/python/json.js";
import { compareStrings, decodeText, decodeTextLeniently, splitLines, stripText } from "../formats/python/text.js";
import { equalValues, isTruthy } from "../formats/python/values.js";
import { matchingRatio } from "../formats/sequence-ratio.js";
import { type MetricFunction, readPair, refuseOptions, requireFile } from "./metric-function.js";

/**
 * Spider2-V's `compare_csv`: lines of text, so that quotes, blank lines, the header's case and the spelling of numbers
 * count; bytes that are not UTF-8 are dropped. The options work on whole lines. Flowbook's function reads tables.
 */
export const compareCsv: MetricFunction = async (result, expected, options) => {
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
export const compareTextFile: MetricFunction = async (result, expected, options) => {
  const files = await readPair(result, expected);
  return files === null ? 0 : Number(areTextsEqual(files.result, files.expected, options));
};

/** `compare_sql`: identical text. */
export const compareSql: MetricFunction = async (result, expected) => {
  const files = await readPair(result, expected);
  return files === null ? 0 : Number(decodeText(files.result) === decodeText(files.expected));
};

/** `compare_json_file`: Python's `==`, so true is 1 and lists are in order. A missing or broken file raises. */
export const compareJsonFile: MetricFunction = async (result, expected) => {
  const [value, other] = await Promise.all([
    readJson(requireFile(result, "the result").path),
    readJson(requireFile(expected, "what it is compared with").path),
  ]);
  return Number(equalValues(value, other));
};

async function readJson(path: string) {
  const text = decodeText(await readCollectedFile(path));
  if (text.startsWith("\ufeff")) throw new Error("JSON with a byte order mark");
  return parsePythonJson(text);
}

/** `diff_text_file`: the ratio of difflib's SequenceMatcher over lines, a fraction. */
export const diffTextFile: MetricFunction = async (result, expected, options) => {
  refuseOptions(options);
  const files = await readPair(result, expected);
  if (files === null) return 0;
  return matchingRatio(splitLines(decodeText(files.result)), splitLines(decodeText(files.expected)));
};
