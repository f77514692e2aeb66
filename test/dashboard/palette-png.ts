/** Makes a screenshot small. A page has few colours, so a palette of 256 holds nearly all of them. */

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLOURS = 256;
const TRUE_COLOUR = 2;
const TRUE_COLOUR_ALPHA = 6;
const PALETTE = 3;

interface Picture {
  readonly width: number;
  readonly height: number;
  /** 0xrrggbb of each pixel, row by row */
  readonly pixels: Uint32Array;
}

/**
 * @param png as Chromium writes it: 8 bits per channel, not interlaced; transparency is lost
 * @returns the same picture with a palette; colours beyond the 256 most frequent become the nearest one of the palette
 */
export function toPalettePng(png: Buffer): Buffer {
  const { width, height, pixels } = readPixels(png);
  const palette = mostFrequent(pixels);
  const indexOf = new Map(palette.map((colour, index) => [colour, index]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const colour = pixels[y * width + x] ?? 0;
      let index = indexOf.get(colour);
      if (index === undefined) {
        index = nearest(palette, colour);
        indexOf.set(colour, index);
      }
      rows[y * (width + 1) + x + 1] = index;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, PALETTE, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function readPixels(png: Buffer): Picture {
  const chunks = readChunks(png);
  const header = chunks.find(({ type }) => type === "IHDR")?.data ?? Buffer.alloc(13);
  const [width, height, kind] = [header.readUInt32BE(0), header.readUInt32BE(4), header[9]];
  if (header[8] !== 8 || (kind !== TRUE_COLOUR && kind !== TRUE_COLOUR_ALPHA)) {
    throw new Error(`the picture must have 8 bits per channel, but has depth ${header[8]} and kind ${kind}`);
  }
  const channels = kind === TRUE_COLOUR ? 3 : 4;
  const data = inflateSync(
    Buffer.concat(chunks.filter(({ type }) => type === "IDAT").map(({ data }) => data)),
  );
  const bytes = unfilter(data, width * channels, height, channels);
  const pixels = new Uint32Array(width * height);
  for (let pixel = 0; pixel < pixels.length; pixel += 1)
    pixels[pixel] = bytes.readUIntBE(pixel * channels, 3);
  return { width, height, pixels };
}

function readChunks(png: Buffer): { readonly type: string; readonly data: Buffer }[] {
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({
      type: png.toString("latin1", at + 4, at + 8),
      data: png.subarray(at + 8, at + 8 + length),
    });
    at += length + 12;
  }
  return chunks;
}

/** Each row names how its bytes follow from the bytes before and above (PNG, 9.2). */
function unfilter(data: Buffer, rowBytes: number, height: number, channels: number): Buffer {
  const rows = Buffer.alloc(rowBytes * height);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (rowBytes + 1)] ?? 0;
    for (let x = 0; x < rowBytes; x += 1) {
      const at = y * rowBytes + x;
      const left = x < channels ? 0 : (rows[at - channels] ?? 0);
      const up = y === 0 ? 0 : (rows[at - rowBytes] ?? 0);
      const upLeft = y === 0 || x < channels ? 0 : (rows[at - rowBytes - channels] ?? 0);
      rows[at] = (data[y * (rowBytes + 1) + x + 1] ?? 0) + predict(filter, left, up, upLeft);
    }
  }
  return rows;
}

function predict(filter: number, left: number, up: number, upLeft: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  const [toLeft, toUp, toUpLeft] = [left, up, upLeft].map((value) =>
    Math.abs(left + up - upLeft - value),
  ) as [number, number, number];
  if (toLeft <= toUp && toLeft <= toUpLeft) return left;
  return toUp <= toUpLeft ? up : upLeft;
}

function mostFrequent(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const sorted = [...counts].sort(([a, most], [b, more]) => more - most || a - b);
  return sorted.slice(0, MOST_COLOURS).map(([colour]) => colour);
}

function nearest(palette: readonly number[], colour: number): number {
  const part = (of: number, shift: number) => (of >> shift) & 255;
  const distance = (other: number) =>
    [16, 8, 0].reduce((sum, shift) => sum + (part(colour, shift) - part(other, shift)) ** 2, 0);
  let best = 0;
  for (const [index, other] of palette.entries()) {
    if (distance(other) < distance(palette[best] ?? 0)) best = index;
  }
  return best;
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, check]);
}
