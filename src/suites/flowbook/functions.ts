import { emailAnswer } from "../email/email-answer.js";
import { compareCsv } from "./compare-csv.js";
import { compareScriptLogs } from "./compare-script-logs.js";
import { compareTextFile } from "./compare-text-file.js";
import { evaluateMultipleNotebooks, NOTEBOOK_FUNCTIONS } from "./evaluate-multiple-notebooks.js";
import type { FlowbookFunction } from "./flowbook-function.js";

/** Those that run a script of the task in the machine. */
export const FLOWBOOK_SCRIPT_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
  compare_script_logs: compareScriptLogs,
};

/** Of ART-E's tasks, which are written in Flowbook's form. */
export const EMAIL_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
  email_answer: emailAnswer,
};

/** Flowbook's evaluation functions, of the origin's commit df6b762, and those of ART-E's tasks. */
export const FLOWBOOK_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
  ...FLOWBOOK_SCRIPT_FUNCTIONS,
  compare_csv: compareCsv,
  compare_text_file: compareTextFile,
  ...NOTEBOOK_FUNCTIONS,
  evaluate_multiple_notebooks: evaluateMultipleNotebooks,
  ...EMAIL_FUNCTIONS,
};
