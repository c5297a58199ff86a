const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const MAX_SIDE = 20_000;
const MAX_PIXELS = 16 * 1024 * 1024;

/** Width and height of a PNG, from its head; null where it is none, or would take too much memory to be shown. */
export function pngSize(bytes: Buffer): { readonly width: number; readonly height: number } | null {
  if (bytes.length < 33 || !bytes.subarray(0, 8).equals(SIGNATURE)) return null;
  if (bytes.toString("latin1", 12, 16) !== "IHDR") return null;
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const isShown = width > 0 && height > 0 && Math.max(width, height) <= MAX_SIDE && width * height <= MAX_PIXELS;
  return isShown ? { width, height } : null;
}
