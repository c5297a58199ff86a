import type { SuiteDialect } from "../tasks/suite-task.js";
import { emailAnswer } from "./email-task.js";
import { compareCsv, compareScriptLogs, compareTextFile } from "./flowbook/compare.js";
import { evaluateMultipleNotebooks, NOTEBOOK_FUNCTIONS } from "./flowbook/notebooks.js";
import { GETTERS, SCRIPT_GETTERS } from "./getters.js";
import type { FlowbookFunction, MetricFunction } from "./grading-function.js";
import type { FunctionNeed } from "./machine-commands.js";
import { checkYamlFile } from "./spider2v/check-yaml.js";
import {
  areOutputsCleared,
  checkIncludeExclude,
  compareImages,
  compareIpynbFiles,
  compareJsonFile,
  compareNotebookCells,
  compareNotebookOutputs,
  compareSql,
  diffTextFile,
  exactMatch,
  isCellExecuted,
  isInList,
  isNotInList,
  literalMatch,
  spider2vCompareCsv,
  spider2vCompareTextFile,
} from "./spider2v/compare-files.js";
import { compareTable } from "./spider2v/compare-table.js";
import { checkLocalDatabase } from "./spider2v/databases.js";

/** Spider2-V's evaluation functions that grade files and texts, of the origin's commit c2a3a6c2. */
export const SPIDER2V_FUNCTIONS: Readonly<Record<string, MetricFunction>> = {
  are_jupyter_outputs_cleared: areOutputsCleared,
  check_include_exclude: checkIncludeExclude,
  check_local_database: checkLocalDatabase,
  check_yaml_file: checkYamlFile,
  compare_csv: spider2vCompareCsv,
  compare_ipynb_files: compareIpynbFiles,
  compare_json_file: compareJsonFile,
  compare_jupyterlab_images: compareImages,
  compare_notebook_cells: compareNotebookCells,
  compare_notebook_outputs: compareNotebookOutputs,
  compare_sql: compareSql,
  compare_table: compareTable,
  compare_text_file: spider2vCompareTextFile,
  diff_text_file: diffTextFile,
  exact_match: exactMatch,
  is_in_list: isInList,
  is_jupyter_cell_executed: isCellExecuted,
  is_not_in_list: isNotInList,
  literal_match: literalMatch,
};

/** Those that run a script of the task in the machine. */
const FLOWBOOK_SCRIPT_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
  compare_script_logs: compareScriptLogs,
};

/** Of ART-E's tasks, which are written in Flowbook's form. */
const EMAIL_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
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

/** Functions of set-up are in a table of their own, setup/setup-functions.ts. */
export type FunctionKind = "evaluation" | "getter";

/** Spider2-V's functions that cannot grade here, by what they would need. */
const NOT_IMPLEMENTED: Readonly<Record<FunctionKind, Readonly<Partial<Record<FunctionNeed, readonly string[]>>>>> = {
  evaluation: {
    account: ["check_snowflake_log_message", "is_snowflake_user_created"],
    screen: ["compare_metabase_images", "is_expected_url_pattern_match", "compare_image_list", "compare_images"],
    server: ["check_file_existence"],
  },
  getter: {
    account: [
      "bigquery_connections",
      "bigquery_database_to_zip",
      "bigquery_datasets",
      "bigquery_sql_result_to_csv",
      "bigquery_table_to_csv",
      "dbt_environment_info",
      "dbt_job_info",
      "dbt_project_info",
      "googlesheet_active_file",
      "snowflake_database_schema_to_csv",
      "snowflake_execution_result",
      "snowflake_function_result",
      "snowflake_log_message",
      "snowflake_table_to_csv",
      "snowflake_user_info",
      "snowflake_worksheet_names_in_folder",
      "snowflake_worksheet_sql",
      "snowflake_worksheet_sql_result",
      "workarena_task_result",
    ],
    server: ["airbyte_localhost_page", "metabase_question_sql", "superset_localhost_page", "cloud_file"],
    screen: ["active_tab_info", "active_url_from_accessTree", "html_check", "validate_correct_url"],
    unsupported: ["cache_file", "content_from_vm_file"],
  },
};

interface FunctionTable {
  readonly all: Readonly<Record<string, unknown>>;
  /** Those of them that run commands. */
  readonly scripts: Readonly<Record<string, unknown>>;
  /** Those that take an answer to a question about a mailbox. */
  readonly answers?: Readonly<Record<string, unknown>>;
}

/** Flowbook has no getters. */
const IMPLEMENTED: Readonly<Record<SuiteDialect, Readonly<Record<FunctionKind, FunctionTable>>>> = {
  flowbook: {
    evaluation: { all: FLOWBOOK_FUNCTIONS, scripts: FLOWBOOK_SCRIPT_FUNCTIONS, answers: EMAIL_FUNCTIONS },
    getter: { all: {}, scripts: {} },
  },
  spider2v: {
    evaluation: { all: SPIDER2V_FUNCTIONS, scripts: {} },
    getter: { all: GETTERS, scripts: SCRIPT_GETTERS },
  },
};

export function isImplemented(dialect: SuiteDialect, kind: FunctionKind, name: string): boolean {
  return Object.hasOwn(IMPLEMENTED[dialect][kind].all, name);
}

/** What a function that a task names needs; null: the dialect has no such function. */
export function evaluationNeed(dialect: SuiteDialect, kind: FunctionKind, name: string): FunctionNeed | null {
  if (isImplemented(dialect, kind, name)) {
    const { scripts, answers = {} } = IMPLEMENTED[dialect][kind];
    if (Object.hasOwn(answers, name)) return "mailbox";
    return Object.hasOwn(scripts, name) ? "script" : "files";
  }
  if (dialect === "flowbook") return null;
  for (const [need, names] of Object.entries(NOT_IMPLEMENTED[kind])) {
    if (names.includes(name)) return need as FunctionNeed;
  }
  return null;
}
