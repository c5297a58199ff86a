/** An option's name as the user types it: `maxTaskCost` becomes `--max-task-cost`. */
export function flagName(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
