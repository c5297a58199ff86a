import { parseArguments } from "../definition/parse-arguments.js";
import { readCsv } from "../formats/csv/read-csv.js";
import { isTruthy } from "../formats/python/values.js";
import { areFramesEqual } from "./compare-frames.js";
import { collectFiles, type FlowbookFunction, filePair } from "./flowbook-function.js";

/**
 * Flowbook's `compare_csv`: both files through `pandas.read_csv`, so that spelling of numbers, quotes, line ends and
 * the order of columns do not count, types do. Spider2-V's function of this name compares lines of text.
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
