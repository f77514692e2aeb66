import { expect, test } from "vitest";
import { formatInstant, isZoneName, parseInstant, showDuration, withOffset } from "../src/clock.ts";

test.each([
  ["2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000Z"],
  ["2026-11-20T10:00:00+07:00", "2026-11-20T03:00:00.000Z"],
  ["2026-11-20T10:00:00.5+0700", "2026-11-20T03:00:00.500Z"],
  ["2026-11-20T10:00:00.123456-03:30", "2026-11-20T13:30:00.123Z"],
  ["2026-11-20 10:00+07", "2026-11-20T03:00:00.000Z"],
  ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
])("%s is the moment %s", (text, expected) => {
  expect(formatInstant(parseInstant(text, "updatedDate"))).toBe(expected);
});

test.each([
  "2026-11-20T10:00:00",
  "2026-11-20",
  "2026-02-30T10:00:00Z",
  "2026-13-01T10:00:00Z",
  "2026-11-20T25:00:00Z",
  "2026-11-20T10:00:00+25:00",
  "yesterday",
  "",
])('"%s" is no moment: the offset is missing or the moment does not exist', (text) => {
  expect(() => parseInstant(text, "updatedDate")).toThrow(/updatedDate must be a date-time with an offset/);
});

test.each([
  [0, "0 s"],
  [40_000, "40 s"],
  [900_000, "15 min"],
  [7_500_000, "2 h 5 min"],
  [90_000_000, "1 d 1 h"],
])("%i ms is shown as %s", (lengthMs, expected) => {
  expect(showDuration(lengthMs)).toBe(expected);
});

test.each([
  ["2026-11-20 10:00", "Asia/Bangkok", "2026-11-20T10:00+07:00"],
  ["2026-11-20T10:00:30.5", "UTC", "2026-11-20T10:00:30.5Z"],
  ["2026-10-25T02:30", "Europe/Berlin", "2026-10-25T02:30+02:00"],
  ["2026-03-29T02:30", "Europe/Berlin", null],
  ["2026-11-20T10:00Z", "Asia/Bangkok", null],
  ["2026-02-30T10:00", "Asia/Bangkok", null],
  ["yesterday", "Asia/Bangkok", null],
])("%s typed in %s means %s", (text, zone, expected) => {
  expect(withOffset(text, zone)).toBe(expected);
});

test.each([
  "US/Eastern",
  "GB",
  "GB-Eire",
  "NZ-CHAT",
  "W-SU",
  "EST5EDT",
  "Japan",
  "PRC",
  "Etc/GMT+4",
  "Etc/UCT",
  "Asia/Ho_Chi_Minh",
])("%s is the name of a zone", (name) => {
  expect(isZoneName(name)).toBe(true);
});

// Node reads them all. Stored zones are compared as text, so each has one spelling.
test.each([
  "Us/Eastern",
  "Gb",
  "GB-EIRE",
  "Nz-Chat",
  "est5edt",
  "JAPAN",
  "Prc",
  "etc/gmt+4",
  "Etc/Gmt+4",
  "Asia/Ho_chi_minh",
  "local",
])("%s is not spelled as the name of a zone", (name) => {
  expect(isZoneName(name)).toBe(false);
});
