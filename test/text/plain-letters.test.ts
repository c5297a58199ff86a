import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { plainLetters, simplifiedChinese } from "../../src/text/plain-letters.js";
import { isUnsegmentedAt } from "../../src/text/tokenizer.js";

const TABLE = join(import.meta.dirname, "../../src/text/chinese-characters.json");

describe("the table of Chinese characters", () => {
  const { traditional, simplified } = JSON.parse(readFileSync(TABLE, "utf8")) as Record<string, string>;

  test("maps each traditional character to one simplified character", () => {
    expect(traditional?.length).toBeGreaterThan(2_500);
    expect(simplified).toHaveLength(traditional?.length as number);
    expect(new Set(traditional).size).toBe(traditional?.length);
    for (const character of `${traditional}${simplified}`) expect(isUnsegmentedAt(character, 0)).toBe(true);
  });

  test("maps no character to another traditional one", () => {
    expect([...(simplified as string)].filter((character) => traditional?.includes(character))).toEqual([]);
  });
});

test.each([
  ["會議記錄", "会议记录"],
  ["臺灣電力", "台湾电力"],
  ["頭髮和發票", "头发和发票"],
  ["乾燥的後面", "干燥的后面"],
  ["来週の会議室", "来週の会議室".replace("週", "周").replace("議", "议")],
  ["개회", "개회"],
])("simplifiedChinese turns %s into %s, one character per character", (written, simplified) => {
  expect(simplifiedChinese(written)).toBe(simplified);
  expect(plainLetters(written)).toBe(simplified);
});
