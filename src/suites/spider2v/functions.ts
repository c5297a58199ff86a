import { checkLocalDatabase } from "./check-local-database.js";
import { checkYamlFile } from "./check-yaml-file.js";
import { compareCsv, compareJsonFile, compareSql, compareTextFile, diffTextFile } from "./compare-files.js";
import { compareImages } from "./compare-images.js";
import {
  areOutputsCleared,
  compareIpynbFiles,
  compareNotebookCells,
  compareNotebookOutputs,
  isCellExecuted,
} from "./compare-notebooks.js";
import { compareTable } from "./compare-table/compare-table.js";
import { checkIncludeExclude, exactMatch, isInList, isNotInList, literalMatch } from "./compare-values.js";
import type { MetricFunction } from "./metric-function.js";

/** Spider2-V's evaluation functions that grade files and texts, of the origin's commit c2a3a6c2. */
export const SPIDER2V_FUNCTIONS: Readonly<Record<string, MetricFunction>> = {
  are_jupyter_outputs_cleared: areOutputsCleared,
  check_include_exclude: checkIncludeExclude,
  check_local_database: checkLocalDatabase,
  check_yaml_file: checkYamlFile,
  compare_csv: compareCsv,
  compare_ipynb_files: compareIpynbFiles,
  compare_json_file: compareJsonFile,
  compare_jupyterlab_images: compareImages,
  compare_notebook_cells: compareNotebookCells,
  compare_notebook_outputs: compareNotebookOutputs,
  compare_sql: compareSql,
  compare_table: compareTable,
  compare_text_file: compareTextFile,
  diff_text_file: diffTextFile,
  exact_match: exactMatch,
  is_in_list: isInList,
  is_jupyter_cell_executed: isCellExecuted,
  is_not_in_list: isNotInList,
  literal_match: literalMatch,
};
