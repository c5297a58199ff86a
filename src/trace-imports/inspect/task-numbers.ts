/** Numbers for the ids of samples, as questions have: its own where the id is one, else the next that is free. */
export class TaskNumbers {
  private readonly numbers = new Map<string, number>();
  private readonly taken = new Set<number>();
  private next = 1;

  of(id: string | number): number {
    const key = String(id);
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    const own = /^\d{1,9}$/.test(key) ? Number(key) : null;
    const number = own !== null && !this.taken.has(own) ? own : this.free();
    this.numbers.set(key, number);
    this.taken.add(number);
    return number;
  }

  private free(): number {
    while (this.taken.has(this.next)) this.next++;
    return this.next;
  }
}
