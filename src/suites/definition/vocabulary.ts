import { INSTRUCTION_STYLES } from "../../domain/tasks/instruction-style.js";

/** The tags that the task format knows. */
export const INTERFACE_TAGS = ["cli", "gui", "cli+gui"] as const;
export const ACCOUNT_TAG = "account";

export const DOMAIN_TAGS = [
  "data_warehousing",
  "data_transformation",
  "data_ingestion_and_integration",
  "data_analysis_and_visualization",
  "data_orchestration",
  "traditional_data_processing",
  "it_service_management",
] as const;

export const KNOWN_TAGS: ReadonlySet<string> = new Set([
  ...INTERFACE_TAGS,
  ...INSTRUCTION_STYLES,
  ...DOMAIN_TAGS,
  ACCOUNT_TAG,
]);
