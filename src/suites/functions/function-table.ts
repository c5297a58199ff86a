// The table of evaluation functions per suite dialect, with what each needs to run.
import type { SuiteDialect } from "../../tasks/suite-task.js";
import { EMAIL_ANSWER, emailAnswer } from "../email-task.js";
import { TEST_SCRIPT } from "../harbor/harbor-task.js";
import type { FlowbookFunction, MetricFunction } from "./grading-function.js";
import { GETTERS } from "./result-getters.js";

/**
 * Requirements of a function. A `mailbox` function needs only imported mail, a `files` function only the task's files,
 * and a `script` function a machine that runs commands. `screen`, `server` and `account` are not available to art-e.
 * `unsupported` means that the original suite has the function, but art-e cannot run it.
 */
export type FunctionNeed = "mailbox" | "files" | "script" | "screen" | "server" | "account" | "unsupported";

/** Kinds of functions in this table. Setup functions have their own table in task-setup.ts. */
type FunctionKind = "evaluation" | "getter";

interface FunctionTable {
  readonly functions: Readonly<Record<string, unknown>>;
  /** Functions that need more than files, including functions that exist only in the original suite. */
  readonly needs: Readonly<Partial<Record<FunctionNeed, readonly string[]>>>;
}

/** Loads a function when it is first called. Runs of dataset questions and listing a suite only need the names. */
function lazily<Name extends string, Args extends unknown[]>(
  load: () => Promise<Readonly<Record<Name, (...args: Args) => number | Promise<number>>>>,
  name: Name,
) {
  return async (...args: Args): Promise<number> => (await load())[name](...args);
}

const tables = () => import("./spider2v-tables.js");
const files = () => import("./spider2v-files.js");
const flowbook = () => import("./flowbook-files.js");
const notebooks = () => import("./flowbook-notebooks.js");

/** Spider2-V's evaluation functions for files and texts, at commit c2a3a6c2 (https://github.com/xlang-ai/Spider2-V). */
export const SPIDER2V_FUNCTIONS: Readonly<Record<string, MetricFunction>> = {
  are_jupyter_outputs_cleared: lazily(files, "areOutputsCleared"),
  check_include_exclude: lazily(files, "checkIncludeExclude"),
  check_local_database: lazily(() => import("./spider2v-databases.js"), "checkLocalDatabase"),
  check_yaml_file: lazily(() => import("./spider2v-yaml.js"), "checkYamlFile"),
  compare_csv: lazily(files, "spider2vCompareCsv"),
  compare_ipynb_files: lazily(files, "compareIpynbFiles"),
  compare_json_file: lazily(files, "compareJsonFile"),
  compare_jupyterlab_images: lazily(files, "compareImages"),
  compare_notebook_cells: lazily(files, "compareNotebookCells"),
  compare_notebook_outputs: lazily(files, "compareNotebookOutputs"),
  compare_sql: lazily(files, "compareSql"),
  compare_table: lazily(tables, "compareTable"),
  compare_text_file: lazily(files, "spider2vCompareTextFile"),
  diff_text_file: lazily(files, "diffTextFile"),
  exact_match: lazily(files, "exactMatch"),
  is_in_list: lazily(files, "isInList"),
  is_jupyter_cell_executed: lazily(files, "isCellExecuted"),
  is_not_in_list: lazily(files, "isNotInList"),
  literal_match: lazily(files, "literalMatch"),
};

/**
 * Flowbook's evaluation functions, at commit df6b762, and the function for ART-E's tasks, which are in Flowbook's
 * format.
 */
export const FLOWBOOK_FUNCTIONS: Readonly<Record<string, FlowbookFunction>> = {
  compare_script_logs: lazily(flowbook, "compareScriptLogs"),
  compare_csv: lazily(flowbook, "compareCsv"),
  compare_text_file: lazily(flowbook, "compareTextFile"),
  compare_notebook_cells: lazily(notebooks, "compareNotebookCells"),
  compare_notebook_outputs: lazily(notebooks, "compareNotebookOutputs"),
  is_jupyter_cell_executed: lazily(flowbook, "isCellExecuted"),
  compare_ipynb_files: lazily(notebooks, "compareIpynbFiles"),
  compare_jupyterlab_images: lazily(flowbook, "compareImages"),
  are_jupyter_outputs_cleared: lazily(flowbook, "areOutputsCleared"),
  evaluate_multiple_notebooks: lazily(notebooks, "evaluateMultipleNotebooks"),
  [EMAIL_ANSWER]: emailAnswer,
};

const NO_GETTERS: FunctionTable = { functions: {}, needs: {} };

const TABLES: Readonly<Record<SuiteDialect, Readonly<Record<FunctionKind, FunctionTable>>>> = {
  flowbook: {
    evaluation: {
      functions: FLOWBOOK_FUNCTIONS,
      needs: { script: ["compare_script_logs"], mailbox: [EMAIL_ANSWER] },
    },
    getter: NO_GETTERS,
  },
  harbor: { evaluation: { functions: {}, needs: { script: [TEST_SCRIPT] } }, getter: NO_GETTERS },
  spider2v: {
    evaluation: {
      functions: SPIDER2V_FUNCTIONS,
      needs: {
        account: ["check_snowflake_log_message", "is_snowflake_user_created"],
        screen: ["compare_metabase_images", "is_expected_url_pattern_match", "compare_image_list", "compare_images"],
        server: ["check_file_existence"],
      },
    },
    getter: {
      functions: GETTERS,
      needs: {
        script: ["vm_command_error", "vm_command_line", "vm_script_output"],
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
    },
  },
};

export function isImplemented(dialect: SuiteDialect, kind: FunctionKind, name: string): boolean {
  return Object.hasOwn(TABLES[dialect][kind].functions, name);
}

/** Returns a function's requirement, or null if the dialect does not have the function. */
export function evaluationNeed(dialect: SuiteDialect, kind: FunctionKind, name: string): FunctionNeed | null {
  const needs = Object.entries(TABLES[dialect][kind].needs);
  const need = needs.find(([, names]) => names.includes(name))?.[0] as FunctionNeed | undefined;
  return need ?? (isImplemented(dialect, kind, name) ? "files" : null);
}
