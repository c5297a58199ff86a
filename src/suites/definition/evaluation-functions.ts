import type { SuiteDialect } from "../../domain/tasks/suite-task.js";
import type { FunctionNeed } from "./setup-functions.js";

const needing = (need: FunctionNeed, names: string): [string, FunctionNeed][] =>
  names.split(" ").map((name) => [name, need]);

const NOTEBOOKS =
  "compare_notebook_cells compare_notebook_outputs compare_ipynb_files is_jupyter_cell_executed are_jupyter_outputs_cleared compare_jupyterlab_images";

const METRICS: Readonly<Record<SuiteDialect, ReadonlyMap<string, FunctionNeed>>> = {
  flowbook: new Map([
    ...needing("files", `${NOTEBOOKS} compare_csv compare_text_file evaluate_multiple_notebooks`),
    ...needing("script", "compare_script_logs"),
  ]),
  spider2v: new Map([
    ...needing("files", `${NOTEBOOKS} compare_csv compare_text_file compare_table compare_sql compare_json_file`),
    ...needing("files", "check_include_exclude exact_match literal_match is_in_list is_not_in_list diff_text_file"),
    ...needing("files", "check_yaml_file check_local_database check_file_existence is_expected_url_pattern_match"),
    ...needing("files", "compare_images compare_image_list compare_metabase_images"),
    ...needing("account", "is_snowflake_user_created check_snowflake_log_message"),
  ]),
};

/** Only Spider2-V has getters. */
const GETTERS: ReadonlyMap<string, FunctionNeed> = new Map([
  ...needing("files", "vm_file local_file cache_file rule list dbt_profiles"),
  ...needing("script", "vm_script_output vm_command_line vm_command_error"),
  ...needing("screen", "active_tab_info active_url_from_accessTree accessibility_tree open_tabs_info"),
  ...needing("screen", "vm_terminal_output vm_screen_size vm_window_size vm_wallpaper"),
  ...needing("server", "airbyte_localhost_page superset_localhost_page metabase_question_sql html_check"),
  ...needing("server", "validate_correct_url cloud_file"),
  ...needing("account", "snowflake_user_info snowflake_table_to_csv snowflake_database_schema_to_csv"),
  ...needing("account", "snowflake_execution_result snowflake_log_message snowflake_function_result"),
  ...needing("account", "snowflake_worksheet_sql snowflake_worksheet_sql_result snowflake_worksheet_names_in_folder"),
  ...needing("account", "bigquery_table_to_csv bigquery_database_to_zip bigquery_datasets bigquery_connections"),
  ...needing("account", "bigquery_sql_result_to_csv googlesheet_active_file googledrive_file workarena_task_result"),
  ...needing("account", "dbt_project_info dbt_environment_info dbt_job_info"),
]);

/** What a comparison needs; null: there is none of that name. */
export function metricNeed(dialect: SuiteDialect, name: string): FunctionNeed | null {
  return METRICS[dialect].get(name) ?? null;
}

/** What a getter needs; null: there is none of that name. */
export function getterNeed(dialect: SuiteDialect, name: string): FunctionNeed | null {
  return dialect === "spider2v" ? (GETTERS.get(name) ?? null) : null;
}
