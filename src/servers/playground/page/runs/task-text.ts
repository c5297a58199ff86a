export function taskName({ taskId, epoch }: { readonly taskId: number | string; readonly epoch: number }): string {
  return epoch === 1 ? String(taskId) : `${taskId} (repeat ${epoch})`;
}
