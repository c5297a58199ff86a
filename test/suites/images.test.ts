import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import {
  correlate,
  decodeImage,
  normalizedHistogram,
  resizeByArea,
  resizeLinearly,
  toGreyscale,
} from "../../src/suites/formats/images.js";

const channel = (width: number, values: number[]) => ({
  width,
  height: values.length / width,
  values: Uint8Array.from(values),
});

describe("images as OpenCV handles them", () => {
  it("reads PNG files without their transparency", () => {
    const png = new PNG({ width: 2, height: 1 });
    png.data = Buffer.from([255, 0, 0, 0, 10, 20, 30, 255]);
    const image = decodeImage(PNG.sync.write(png));
    expect([image?.width, ...(image?.red ?? []), ...(image?.green ?? []), ...(image?.blue ?? [])]).toEqual([
      2, 255, 10, 0, 20, 0, 30,
    ]);
    expect(image && [...toGreyscale(image)]).toEqual([76, 18]);
  });

  it("takes for no image what is none, or too large", () => {
    expect(decodeImage(Buffer.from("x"))).toBeNull();
    const png = PNG.sync.write(new PNG({ width: 1, height: 1 }));
    expect(decodeImage(png.subarray(0, 40))).toBeNull();
    png.writeUInt32BE(0x7fffffff, 16);
    expect(decodeImage(png)).toBeNull();
  });

  it("shrinks by the mean of what a pixel covers", () => {
    expect([...resizeByArea(channel(4, [0, 10, 20, 30]), 2, 1).values]).toEqual([5, 25]);
    expect([...resizeByArea(channel(3, [0, 90, 30]), 2, 1).values]).toEqual([30, 50]);
    expect([...resizeByArea(channel(2, [1, 2, 4, 4]), 1, 1).values]).toEqual([3]);
  });

  it("interpolates between the centres of pixels", () => {
    expect([...resizeLinearly(channel(2, [0, 100]), 4, 1).values]).toEqual([0, 25, 75, 100]);
    expect([...resizeLinearly(channel(4, [0, 10, 20, 30]), 2, 1).values]).toEqual([5, 25]);
  });

  it("correlates histograms", () => {
    const [a, b] = [Uint8Array.from([1, 1, 2]), Uint8Array.from([2, 1, 1, 1, 1, 2])];
    expect(correlate(normalizedHistogram(a), normalizedHistogram(a))).toBe(1);
    expect(correlate(normalizedHistogram(a), normalizedHistogram(b))).toBeCloseTo(1, 6);
    expect(correlate(normalizedHistogram(a), normalizedHistogram(Uint8Array.from([9])))).toBeLessThan(0);
  });
});
