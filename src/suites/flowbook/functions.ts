import { emailAnswer } from "../email/email-answer.js";
import { compareCsv } from "./compare-csv.js";
import { compareScriptLogs } from "./compare-script-logs.js";
import { compareTextFile } from "./compare-text-file.js";
import { evaluateMultipleNotebooks, NOTEBOOK_FUNCTIONS } from "./evaluate-multiple-notebooks.js";
import type { FlowbookFunction } from "./flowbook-function.js";

/** Flowbook's evaluation functions, of the origin's commit df6b762, and that of ART-E's tasks, in the same form. */
export const FLOWBOOK_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
  compare_csv: compareCsv,
  compare_script_logs: compareScriptLogs,
  compare_text_file: compareTextFile,
  ...NOTEBOOK_FUNCTIONS,
  evaluate_multiple_notebooks: evaluateMultipleNotebooks,
  email_answer: emailAnswer,
};
