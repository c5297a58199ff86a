import type { SuiteDialect } from "../../domain/tasks/suite-task.js";
import type { FunctionNeed } from "../definition/functions/function-need.js";
import { EMAIL_FUNCTIONS, FLOWBOOK_FUNCTIONS, FLOWBOOK_SCRIPT_FUNCTIONS } from "../flowbook/functions.js";
import { SPIDER2V_FUNCTIONS } from "../spider2v/functions.js";
import { GETTERS, SCRIPT_GETTERS } from "./getters/getter-table.js";

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
