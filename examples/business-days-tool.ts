/** A tool: `art-e tools add business_days --module examples/business-days-tool.ts`, then attach it to an agent. */

export const description = "Counts the business days (Monday to Friday) from one day to another, the last not counted.";

const day = { type: "string", format: "date", description: "YYYY-MM-DD" };

export const parameters = {
  type: "object",
  properties: { from: day, to: day },
  required: ["from", "to"],
  additionalProperties: false,
};

const DAY_MS = 86_400_000;

export function call({ from, to }: { from: string; to: string }): { days: number } {
  let days = 0;
  for (let time = Date.parse(from); time < Date.parse(to); time += DAY_MS) {
    const weekday = new Date(time).getUTCDay();
    if (weekday !== 0 && weekday !== 6) days++;
  }
  return { days };
}
