import type { SuiteDialect } from "../../domain/tasks/suite-task.js";

export type FunctionNeed = "files" | "script" | "process" | "account" | "screen";

export type FunctionKind = "evaluation" | "getter" | "postconfig";

export interface KnownFunction {
  readonly needs: FunctionNeed;
  readonly isImplemented: boolean;
}

const NOTEBOOKS =
  "compare_notebook_cells compare_notebook_outputs compare_ipynb_files is_jupyter_cell_executed are_jupyter_outputs_cleared compare_jupyterlab_images";

/** Stands in for the table of what can be graded until it is there. */
const NAMES: Readonly<Record<SuiteDialect, Partial<Record<FunctionKind, Partial<Record<FunctionNeed, string>>>>>> = {
  flowbook: {
    evaluation: {
      files: `${NOTEBOOKS} compare_csv compare_text_file evaluate_multiple_notebooks`,
      script: "compare_script_logs",
    },
  },
  spider2v: {
    evaluation: {
      files: `${NOTEBOOKS} compare_csv compare_text_file compare_table compare_sql compare_json_file check_include_exclude exact_match literal_match is_not_in_list diff_text_file check_yaml_file check_local_database`,
      process: "check_file_existence",
      screen: "is_expected_url_pattern_match compare_images compare_image_list compare_metabase_images",
      account: "is_snowflake_user_created check_snowflake_log_message",
    },
    getter: {
      files: "vm_file local_file rule list dbt_profiles",
      script: "vm_script_output vm_command_line vm_command_error",
      screen: "active_tab_info active_url_from_accessTree html_check validate_correct_url",
      process: "airbyte_localhost_page superset_localhost_page metabase_question_sql",
      account:
        "snowflake_user_info snowflake_table_to_csv snowflake_database_schema_to_csv snowflake_execution_result snowflake_log_message snowflake_function_result snowflake_worksheet_sql snowflake_worksheet_sql_result snowflake_worksheet_names_in_folder bigquery_table_to_csv bigquery_datasets bigquery_connections bigquery_sql_result_to_csv googlesheet_active_file workarena_task_result dbt_project_info dbt_environment_info dbt_job_info",
    },
  },
};

export function lookUpFunction(dialect: SuiteDialect, kind: FunctionKind, name: string): KnownFunction | null {
  for (const [needs, names] of Object.entries(NAMES[dialect][kind] ?? {})) {
    const isImplemented = needs === "files" || needs === "script";
    if (names.split(" ").includes(name)) return { needs: needs as FunctionNeed, isImplemented };
  }
  return null;
}
