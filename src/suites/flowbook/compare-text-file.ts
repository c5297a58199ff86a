import { z } from "zod";
import { parseArguments } from "../definition/parse-arguments.js";
import { areTextsEqual } from "../formats/compare-texts.js";
import { collectFiles, type FlowbookFunction } from "./flowbook-function.js";

const schema = z.looseObject({ local_expected_file: z.string(), vm_result_file: z.string() });

/** Flowbook's `compare_text_file`. */
export const compareTextFile: FlowbookFunction = async (args, context) => {
  const { local_expected_file, vm_result_file } = parseArguments(schema, args);
  const { result, expected } = await collectFiles(context, vm_result_file, local_expected_file);
  return Number(areTextsEqual(result, expected, args));
};
