const pad = (value: number, width = 2) => String(value).padStart(width, "0");

const CODES: Readonly<Record<string, (time: Date) => string>> = {
  Y: (time) => pad(time.getFullYear(), 4),
  y: (time) => pad(time.getFullYear() % 100),
  m: (time) => pad(time.getMonth() + 1),
  d: (time) => pad(time.getDate()),
  H: (time) => pad(time.getHours()),
  M: (time) => pad(time.getMinutes()),
  S: (time) => pad(time.getSeconds()),
  "%": () => "%",
};

/** `strftime` for dates and times in digits. */
export function formatTime(time: Date, format: string): string {
  return format.replace(/%(.)/g, (code, letter: string) => {
    const write = CODES[letter];
    if (write === undefined) throw new Error(`${code} in the time format is not supported`);
    return write(time);
  });
}
