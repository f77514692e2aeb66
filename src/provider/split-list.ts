/**
 * Cuts the items out of one list of a JSON text while it arrives, so a long answer is neither held nor parsed as a whole. It reads only
 * brackets, texts and commas; the parser decides later whether the pieces are JSON. A thread for large answers would hold them twice.
 */

import { isUtf8 } from "node:buffer";

/** The limits of an answer. */
interface ListLimits {
  /** of one item; a longer item is cut to its beginning */
  readonly itemBytes: number;
  /** of everything but the items */
  readonly restBytes: number;
}

export interface ListItem {
  /** JSON text */
  readonly text: string;
  /** the item was longer than `itemBytes`; `text` is its beginning */
  readonly isCut: boolean;
  /** the item is not UTF-8; `text` shows its other bytes as \\xe3 */
  readonly isGarbled: boolean;
}

interface ListSplitter {
  take(chunk: Buffer): void;
  /** The text so far without the items, that is, with an empty list. @throws TypeError if it is not UTF-8 */
  rest(): string;
  /** the text without the items was too long, or has the list twice */
  readonly problem: "rest-too-long" | "second-list" | null;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const LAST_SPACE = 0x20;

/** Longer than any name on the path to the list, even with escapes. */
const LONGEST_NAME_BYTES = 256;

/**
 * @param path the names of the fields that lead to the list: ["data", "txns"]
 * @param onItem called with each item, in order; an empty text stands for a missing item between two commas
 */
export function splitList(
  path: readonly string[],
  limits: ListLimits,
  onItem: (item: ListItem) => void,
): ListSplitter {
  const rest: Buffer[] = [];
  let restBytes = 0;
  let problem: ListSplitter["problem"] = null;
  /** the parts of the present item from earlier chunks */
  let item: Buffer[] = [];
  let itemBytes = 0;
  let isInText = false;
  let isEscaped = false;
  let depth = 0;
  /** the depth of the list's items while in it, else 0 */
  let listDepth = 0;
  let hadList = false;
  let isItemDue = false;
  /** the present field of each open object on the path */
  let names: (string | null)[] = [];
  let isName = false;
  let name: number[] = [];

  const keepRest = (part: Buffer) => {
    restBytes += part.length;
    if (restBytes > limits.restBytes) problem ??= "rest-too-long";
    else rest.push(Buffer.from(part));
  };
  const keepItem = (part: Buffer) => {
    const room = limits.itemBytes - itemBytes;
    itemBytes += part.length;
    if (room > 0) item.push(part.length > room ? part.subarray(0, room) : part);
  };
  const endItem = () => {
    const [only] = item;
    const bytes = item.length === 1 && only !== undefined ? only : Buffer.concat(item);
    const isCut = itemBytes > limits.itemBytes;
    item = [];
    itemBytes = 0;
    const read = isCut ? withoutPartialCharacter(bytes) : bytes;
    const isGarbled = !isUtf8(read);
    onItem({ text: (isGarbled ? showBytes(read) : read.toString("utf8")).trim(), isCut, isGarbled });
  };
  const isOnPath = () => depth === path.length && path.every((one, level) => names[level] === one);

  /** @returns whether the list begins here */
  const open = (byte: number): boolean => {
    const begins = byte === OPEN_LIST && listDepth === 0 && isOnPath();
    depth += 1;
    if (depth <= path.length) {
      names = names.slice(0, depth - 1);
      names.push(null);
      isName = byte === OPEN_OBJECT;
    }
    if (!begins) return false;
    if (hadList) problem ??= "second-list";
    hadList = true;
    listDepth = depth;
    return true;
  };

  const take = (chunk: Buffer) => {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (isInText) {
        const from = at;
        // The byte after a backslash does not end the text.
        if (isEscaped) isEscaped = false;
        else {
          at = findTextEnd(chunk, at);
          isEscaped = chunk[at] === BACKSLASH;
          isInText = chunk[at] !== QUOTE;
        }
        if (isName)
          name.push(
            ...chunk.subarray(from, isInText ? at + 1 : at).subarray(0, LONGEST_NAME_BYTES - name.length),
          );
        continue;
      }
      const byte = chunk[at] ?? 0;
      if (byte <= LAST_SPACE) continue;
      if (byte === QUOTE) {
        isInText = true;
        name = [];
      } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (listDepth > 0) depth += 1;
        else if (open(byte)) {
          keepRest(chunk.subarray(start, at + 1));
          start = at + 1;
          isItemDue = false;
        }
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        if (depth === listDepth && listDepth > 0) {
          keepItem(chunk.subarray(start, at));
          if (isItemDue || hasMore(item)) endItem();
          else item = [];
          itemBytes = 0;
          listDepth = 0;
          start = at;
        }
        depth -= 1;
        isName = false;
      } else if (byte === COMMA) {
        if (depth === listDepth && listDepth > 0) {
          keepItem(chunk.subarray(start, at));
          endItem();
          isItemDue = true;
          start = at + 1;
        } else if (depth <= path.length) isName = true;
      } else if (byte === COLON && isName && depth <= path.length && listDepth === 0) {
        names[depth - 1] = decodeName(name);
        isName = false;
      }
    }
    if (listDepth > 0) keepItem(Buffer.from(chunk.subarray(start)));
    else keepRest(chunk.subarray(start));
  };

  return {
    take,
    // TextDecoder drops a byte order mark.
    rest: () => new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(rest)),
    get problem() {
      return problem;
    },
  };
}

const LONGEST_CHARACTER_BYTES = 4;

/** A text that was cut may end within a character. */
function withoutPartialCharacter(bytes: Buffer): Buffer {
  for (let less = 0; less < LONGEST_CHARACTER_BYTES; less += 1) {
    const shorter = bytes.subarray(0, bytes.length - less);
    if (isUtf8(shorter)) return shorter;
  }
  return bytes;
}

function showBytes(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}

/** @returns the place of the next quote or backslash; without any, the length of the chunk */
function findTextEnd(chunk: Buffer, from: number): number {
  let at = from;
  while (at < chunk.length && chunk[at] !== QUOTE && chunk[at] !== BACKSLASH) at += 1;
  return at;
}

function hasMore(parts: readonly Buffer[]): boolean {
  return parts.some((part) => part.some((byte) => byte > LAST_SPACE));
}

/** Decodes a name, which may contain escapes. @returns null if the text is not a name */
function decodeName(bytes: readonly number[]): string | null {
  try {
    const text: unknown = JSON.parse(`"${Buffer.from(bytes).toString("utf8")}"`);
    return typeof text === "string" ? text : null;
  } catch {
    return null;
  }
}
