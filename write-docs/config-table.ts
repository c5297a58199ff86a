import { join } from "node:path";
import { SECTIONS } from "../src/cli/config/config-schema.js";
import { inCode, pageWithTables, table } from "./page-tables.js";

/** Writes the table of settings in docs/config-file.md. */

export const CONFIG_PAGE = join(import.meta.dirname, "../docs/config-file.md");

const settings = () =>
  table(
    ["section", "settings"],
    Object.entries(SECTIONS).map(([section, fields]) => [`\`${section}\``, inCode(Object.keys(fields))]),
  );

export const configPage = () => pageWithTables(CONFIG_PAGE, { settings });
