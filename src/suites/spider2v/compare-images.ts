import { CannotGrade } from "../evaluation/cannot-grade.js";
import { decodeImage, type Image, isJpeg } from "../formats/images/decode-image.js";
import { correlate, normalizedHistogram } from "../formats/images/histogram.js";
import { type Channel, resizeLinearly } from "../formats/images/resize.js";
import { type MetricFunction, readPair, refuseOptions } from "./metric-function.js";

/**
 * Spider2-V's `compare_jupyterlab_images`: histograms of the green channel must correlate with exactly 1, after the
 * wider image is brought to the width of the other. No image, or a broken one, raises.
 */
export const compareImages: MetricFunction = async (result, expected, options) => {
  refuseOptions(options);
  if (expected === undefined) throw new Error("what it is compared with is missing");
  const files = result === null || expected === null ? null : await readPair(result, expected);
  if (files === null) return 0;
  const [a, b] = [greenOf(readImage(files.result)), greenOf(readImage(files.expected))];
  const isFirstLarger = a.width > b.width || (a.width === b.width && a.height > b.height);
  const first = isFirstLarger ? bringToWidth(a, b.width) : a;
  const second = isFirstLarger ? b : bringToWidth(b, a.width);
  return Number(correlate(normalizedHistogram(first.values), normalizedHistogram(second.values)) === 1);
};

function bringToWidth(image: Channel, width: number): Channel {
  return resizeLinearly(image, width, Math.trunc((image.height * width) / image.width));
}

function readImage(bytes: Buffer): Image {
  if (isJpeg(bytes)) throw new CannotGrade("unsupported", "JPEG images are not compared");
  const image = decodeImage(bytes);
  if (image === null) throw new Error("not an image");
  return image;
}

const greenOf = ({ width, height, green }: Image): Channel => ({ width, height, values: green });
