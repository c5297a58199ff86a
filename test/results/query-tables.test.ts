import { expect, it } from "vitest";
import { queryTables } from "../../src/results/runs-over-mcp/query-tables.js";
import { never } from "../runs/demo-setup.js";

it("queryTables rejects a query that never ends after the timeout", async () => {
  const sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
  const order = { tables: {}, sql, maxRows: 1 };
  await expect(queryTables(order, never, 1)).rejects.toThrow("it took more than 1 s");
  expect(await queryTables({ ...order, sql: "SELECT 1 AS one" }, never)).toEqual({ rows: [{ one: 1 }], more: false });
});
