import type { SuiteDialect } from "../../domain/tasks/suite-task.js";
import { FLOWBOOK_FUNCTIONS } from "../flowbook/functions.js";
import { SPIDER2V_FUNCTIONS } from "../spider2v/functions.js";
import { GETTERS } from "./getters/getter-table.js";
import { POSTCONFIG_ACTIONS } from "./postconfig.js";

/** What a function needs: files in the machine, a script run there, a server's process, an account, a screen. */
export type FunctionNeed = "files" | "script" | "process" | "account" | "screen";

export type FunctionKind = "evaluation" | "getter" | "postconfig";

export interface KnownFunction {
  readonly needs: FunctionNeed;
  /** False: the origin has it, and it cannot be graded here. */
  readonly isImplemented: boolean;
}

/** Of the functions that are implemented; the others need files. */
const NEEDS: Readonly<Record<string, FunctionNeed>> = {
  activate_window: "screen",
  close_window: "screen",
  command: "script",
  compare_script_logs: "script",
  execute: "script",
  google_chrome_browser: "screen",
  launch: "screen",
  open: "screen",
  script_and_execute: "script",
  vm_command_error: "script",
  vm_command_line: "script",
  vm_script_output: "script",
};

/** Spider2-V's other functions. Those of `postconfig` are the same that stand in `config`. */
const NOT_IMPLEMENTED: Readonly<Record<FunctionKind, Readonly<Partial<Record<FunctionNeed, readonly string[]>>>>> = {
  evaluation: {
    account: ["check_snowflake_log_message", "is_snowflake_user_created"],
    screen: ["compare_metabase_images", "is_expected_url_pattern_match", "compare_image_list", "compare_images"],
    process: ["check_file_existence"],
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
    process: ["airbyte_localhost_page", "metabase_question_sql", "superset_localhost_page", "cloud_file"],
    screen: ["active_tab_info", "active_url_from_accessTree", "html_check", "validate_correct_url"],
    files: ["cache_file", "content_from_vm_file"],
  },
  postconfig: {
    account: [
      "bigquery_init",
      "bigquery_login",
      "dagster_cloud_webui_login",
      "dbt_cloud_init",
      "dbt_cloud_webui_login",
      "gcp_config_webgui",
      "gcp_upload_keyfile",
      "gcp_webgui",
      "googledrive_init",
      "googledrive_login",
      "hasura_login",
      "snowflake_delete_filter",
      "snowflake_delete_folder",
      "snowflake_init",
      "snowflake_login",
      "snowflake_write_sqls_in_new_worksheet",
      "workarena_task_init",
      "workarena_unique_fields",
    ],
    process: [
      "airbyte_webui_init",
      "astro_webui_init",
      "dagster_webui_init",
      "metabase_webui_init",
      "superset_webui_init",
      "download",
    ],
    screen: ["astro_refresh_page", "chrome_close_tabs", "chrome_open_tabs"],
    files: ["copyfile_from_guest_to_host", "dagster_environment_variables"],
  },
};

/** What is known of a function that a task names; null: no such function. */
export function lookUpFunction(dialect: SuiteDialect, kind: FunctionKind, name: string): KnownFunction | null {
  if (listImplemented(dialect, kind).includes(name)) return { needs: NEEDS[name] ?? "files", isImplemented: true };
  if (dialect === "flowbook") return null;
  for (const [needs, names] of Object.entries(NOT_IMPLEMENTED[kind])) {
    if (names.includes(name)) return { needs: needs as FunctionNeed, isImplemented: false };
  }
  return null;
}

/** The functions of one kind, in alphabetical order. */
export function listFunctions(dialect: SuiteDialect, kind: FunctionKind): readonly string[] {
  const others = dialect === "spider2v" ? Object.values(NOT_IMPLEMENTED[kind]).flat() : [];
  return [...listImplemented(dialect, kind), ...others].sort();
}

/** Flowbook has neither getters nor postconfig. */
function listImplemented(dialect: SuiteDialect, kind: FunctionKind): string[] {
  if (kind === "evaluation") return Object.keys(dialect === "flowbook" ? FLOWBOOK_FUNCTIONS : SPIDER2V_FUNCTIONS);
  if (dialect === "flowbook") return [];
  return Object.keys(kind === "getter" ? GETTERS : POSTCONFIG_ACTIONS);
}
