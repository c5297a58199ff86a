import { compareCsv } from "./compare-csv.js";
import { compareScriptLogs } from "./compare-script-logs.js";
import { compareTextFile } from "./compare-text-file.js";
import { evaluateMultipleNotebooks, NOTEBOOK_FUNCTIONS } from "./evaluate-multiple-notebooks.js";
import type { FlowbookFunction } from "./flowbook-function.js";

/** Those that run a script of the task in the machine. */
export const FLOWBOOK_SCRIPT_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
  compare_script_logs: compareScriptLogs,
};

/** Flowbook's evaluation functions, of the origin's commit df6b762. */
export const FLOWBOOK_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
  ...FLOWBOOK_SCRIPT_FUNCTIONS,
  compare_csv: compareCsv,
  compare_text_file: compareTextFile,
  ...NOTEBOOK_FUNCTIONS,
  evaluate_multiple_notebooks: evaluateMultipleNotebooks,
};
