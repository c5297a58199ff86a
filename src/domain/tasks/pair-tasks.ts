interface Counterpart {
  readonly id: string;
  readonly counterpart: string | null;
}

/**
 * The counterpart of each task by id: the one that it names, or that names it. One real task names itself; the task
 * that names it is its counterpart all the same.
 */
export function pairTasks(tasks: readonly Counterpart[]): ReadonlyMap<string, string> {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const nameOf = (task: Counterpart) =>
    task.counterpart !== null && task.counterpart !== task.id && byId.has(task.counterpart) ? task.counterpart : null;
  const pairs = new Map<string, string>();
  for (const task of tasks) {
    const other = byId.get(nameOf(task) ?? "");
    if (other === undefined || (nameOf(other) !== null && nameOf(other) !== task.id)) continue;
    if (pairs.has(other.id) && pairs.get(other.id) !== task.id) continue;
    pairs.set(task.id, other.id);
    pairs.set(other.id, task.id);
  }
  return pairs;
}
