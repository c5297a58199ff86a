import { expect, it } from "vitest";
import { runLengthParquet } from "../../mail/run-length-parquet.js";
import { demoQuestion, MAIL, workFolder } from "../art-e.js";

const { artE, write } = workFolder({ mail: MAIL });

const MAIL_COLUMNS = "message_id subject from to cc bcc date body".split(" ");
const QUESTION_COLUMNS = Object.keys(demoQuestion(1));
const MANY = 100_000_000;

it.each([
  ["import many.parquet --db many.db", MAIL_COLUMNS, MANY, "it claims 100,000,000 rows in"],
  ["import lying.parquet --db lying.db", MAIL_COLUMNS, 10, "would be 100,000,000 values"],
  ["stats --dataset many.parquet", QUESTION_COLUMNS, MANY, "it claims 100,000,000 rows in"],
  ["stats --dataset lying.parquet", QUESTION_COLUMNS, 10, "would be 100,000,000 values"],
  ["stats --dataset none.parquet", ["other"], MANY, "it claims 100,000,000 rows in"],
])(
  "%s: a run of a hundred million rows in a few hundred bytes is refused by count",
  async (line, columns, rows, why) => {
    const file = line.match(/\w+\.parquet/)?.[0] ?? "";
    const bytes = runLengthParquet({ columns, rows, values: MANY });
    expect(bytes.length).toBeLessThan(1_000);
    write(file, bytes);
    const { code, stdout, stderr } = await artE(line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(why);
    expect(stderr.trimEnd().split("\n")).toHaveLength(2);
  },
);
