/**
 * Draws the charts with uPlot, from what the server wrote into each figure. Under the pointer, or at the slider, a step is read;
 * a click opens what happened in it, and a part that is drawn over becomes the range of the page.
 */

import { groupThousands } from "./group-thousands.js";
import { showDuration } from "./show-duration.js";

const QUARTER_S = 900;
/** A shorter part is no range that somebody wants to see. */
const SHORTEST_S = 3_600;
/** A pointer that moves less than this between press and release has clicked. */
const CLICK_PX = 5;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const DURATIONS = [
  ...[1, 5, 15, 30].map((count) => count * SECOND_MS),
  ...[1, 5, 10, 15, 30].map((count) => count * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR_MS),
  ...[1, 2, 7, 14, 30].map((count) => count * DAY_MS),
];
/** Lines are told apart without colours too. */
const DASHES = [[], [8, 4], [2, 3]];
/** The date only where it changes. */
const TIMES = [
  [86_400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
];

/** The charts by their figures' elements. */
const drawn = new WeakMap();
/** The chosen step by the figure's id: a refresh of the page must not forget it. */
const chosen = new Map();

export function drawCharts() {
  document.addEventListener("input", ({ target }) => {
    if (!target.matches?.(".plot input")) return;
    const figure = target.closest(".plot");
    const plot = drawn.get(figure)?.plot;
    if (plot === undefined) show(figure, Number(target.value));
    else pointAt(plot, figure, Number(target.value));
  });
  document.addEventListener("refreshed", drawAll);
  const redraw = () => {
    for (const figure of figures()) drawn.get(figure)?.plot.redraw(false);
  };
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"])
    matchMedia(query).addEventListener("change", redraw);
  drawAll();
}

function figures() {
  return [...document.querySelectorAll(".plot[data-chart]")];
}

async function drawAll() {
  if (figures().length === 0) return;
  const { uPlot } = await loadLibrary();
  for (const figure of figures()) {
    draw(uPlot, figure);
    if (chosen.has(figure.id)) show(figure, chosen.get(figure.id));
  }
}

/** Pages without a chart load neither. */
let library = null;
function loadLibrary() {
  library ??= (async () => {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = new URL("./uplot.css", import.meta.url);
    const styled = new Promise((resolve) => {
      style.onload = resolve;
      style.onerror = resolve;
    });
    document.head.append(style);
    const [loaded] = await Promise.all([import("./uplot.js"), styled]);
    return loaded;
  })();
  return library;
}

function chartOf(figure) {
  const text = figure.dataset.chart;
  const known = drawn.get(figure);
  if (known?.text === text) return known.chart;
  const chart = JSON.parse(text);
  for (const line of chart.lines) line.said = line.said.split("|");
  chart.count = chart.lines[0].values.length;
  return chart;
}

function draw(uPlot, figure) {
  const text = figure.dataset.chart;
  const before = drawn.get(figure);
  const host = figure.querySelector(".canvas");
  const isHere = before?.plot.root.parentNode === host;
  if (isHere && before.text === text) return;
  const chart = chartOf(figure);
  const [old, now] = [before?.chart, chart].map(
    (one) => one && [one.kind, one.unit, one.lines.length].join(),
  );
  if (isHere && old === now) {
    Object.assign(before, { text, chart });
    before.plot.setData(dataOf(chart));
    return;
  }
  before?.plot.destroy();
  before?.sized.disconnect();
  const entry = { text, chart };
  // Before uPlot, whose options read it.
  drawn.set(figure, entry);
  entry.plot = new uPlot(optionsOf(uPlot, figure, host, entry), dataOf(chart), host);
  listenToClicks(entry.plot, figure);
  entry.sized = new ResizeObserver(() => entry.plot.setSize(sizeOf(host)));
  entry.sized.observe(host);
}

function sizeOf(host) {
  return { width: Math.max(1, host.clientWidth), height: Math.max(1, host.clientHeight) };
}

/** The last step is as wide as the others: its value stands once more at its end. */
function dataOf({ from, stepMs, count, lines }) {
  const times = Array.from({ length: count + 1 }, (_, step) => (from + step * stepMs) / 1000);
  return [times, ...lines.map(({ values }) => [...values, values.at(-1) ?? null])];
}

function optionsOf(uPlot, figure, host, entry) {
  const zone = document.documentElement.dataset.zone ?? "UTC";
  const { kind, unit, lines } = entry.chart;
  const faint = () => colourOf(host, "--faint");
  const grid = { stroke: () => colourOf(host, "--line"), width: 1 };
  const axis = {
    stroke: faint,
    grid,
    ticks: grid,
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
  };
  return {
    ...sizeOf(host),
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), zone),
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: CLICK_PX },
      dataIdx: (plot, _series, closest, time) => (plot.cursor.left < 0 ? closest : stepAt(entry.chart, time)),
    },
    scales: {
      x: { time: true, range: () => [timeAt(entry.chart, 0), timeAt(entry.chart, entry.chart.count)] },
      y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.08 : 1] },
    },
    axes: [
      { ...axis, values: TIMES, space: 60 },
      {
        ...axis,
        label: unit,
        labelSize: 18,
        size: widthOfValues,
        space: 28,
        values: (_plot, values) => values.map((value) => sayValue(kind, value)),
        ...(kind === "duration" ? { incrs: DURATIONS } : {}),
        ...(kind === "count"
          ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6] }
          : {}),
      },
    ],
    series: [
      {},
      ...lines.map((_line, index) => ({
        stroke: () => colourOf(host, `--line-${index}`),
        width: 2,
        dash: DASHES[index % DASHES.length],
        paths: uPlot.paths.stepped({ align: 1 }),
        points: { show: false },
      })),
    ],
    hooks: {
      drawClear: [(plot) => shade(plot, entry.chart, host)],
      setCursor: [
        (plot) => {
          const { left } = plot.cursor;
          if (left == null || left < 0) return;
          show(figure, stepAt(entry.chart, plot.posToVal(left, "x")));
        },
      ],
      setSelect: [
        ({ select, posToVal }) => {
          if (select.width < CLICK_PX) return;
          const [from, to] = [select.left, select.left + select.width].map((at) => posToVal(at, "x"));
          openRange(figure, from, to);
        },
      ],
    },
  };
}

function widthOfValues(_plot, values) {
  const longest = Math.max(2, ...(values ?? []).map((value) => value.length));
  return 16 + longest * 7;
}

function sayValue(kind, value) {
  if (kind === "duration") return showDuration(value);
  const [whole, part] = String(value).split(".");
  return groupThousands(whole) + (part === undefined ? "" : `.${part}`);
}

function timeAt({ from, stepMs }, step) {
  return (from + step * stepMs) / 1000;
}

function stepAt({ from, stepMs, count }, seconds) {
  return Math.min(count - 1, Math.max(0, Math.floor((seconds * 1000 - from) / stepMs)));
}

/** A colour of the style sheet as the canvas needs it: of the present theme, and with the visitor's own colours. */
function colourOf(host, name) {
  const probe = host.querySelector(".uplot") ?? host;
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** Time whose figure is unknown is grey. Time before the data began is hatched, and says so. */
function shade(plot, chart, host) {
  const { ctx, bbox } = plot;
  const isForced = matchMedia("(forced-colors: active)").matches;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = colourOf(host, "--line");
  ctx.strokeStyle = colourOf(host, "--faint");
  for (const { from, to, isBefore } of emptyTimes(chart)) {
    const [left, right] = [from, to].map((step) => plot.valToPos(timeAt(chart, step), "x", true));
    ctx.globalAlpha = isForced ? 0.2 : 0.5;
    if (isBefore) hatch(ctx, { left, right, top: bbox.top, height: bbox.height });
    else ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.globalAlpha = 1;
    if (isBefore) label(ctx, left, right, bbox, colourOf(host, "--faint"));
  }
  ctx.restore();
}

function emptyTimes({ stepMs, from, begin, hasUnknown, count, lines }) {
  const kindAt = (step) => {
    if (lines.some(({ values }) => values[step] !== null)) return "";
    if (begin !== null && from + (step + 1) * stepMs <= begin) return "before";
    return hasUnknown ? "unknown" : "";
  };
  const found = [];
  for (let step = 0; step < count; step += 1) {
    const kind = kindAt(step);
    if (kind === "") continue;
    const last = found.at(-1);
    if (last?.to === step && last.kind === kind) last.to = step + 1;
    else found.push({ kind, from: step, to: step + 1, isBefore: kind === "before" });
  }
  return found;
}

function hatch(ctx, { left, right, top, height }) {
  const apart = 8 * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, right - left, height);
  ctx.clip();
  ctx.beginPath();
  ctx.lineWidth = devicePixelRatio;
  for (let x = left - height; x < right; x += apart) {
    ctx.moveTo(x, top + height);
    ctx.lineTo(x + height, top);
  }
  ctx.stroke();
  ctx.restore();
}

function label(ctx, left, right, bbox, colour) {
  const words = "before the data begins";
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  if (ctx.measureText(words).width + 8 > right - left) return;
  ctx.fillStyle = colour;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  const { width } = ctx.measureText(words);
  const middle = { x: (left + right) / 2, y: bbox.top + bbox.height / 2 };
  ctx.save();
  ctx.fillStyle = getComputedStyle(document.body).backgroundColor;
  ctx.fillRect(middle.x - width / 2 - 4, middle.y - 10 * devicePixelRatio, width + 8, 20 * devicePixelRatio);
  ctx.restore();
  ctx.fillText(words, middle.x, middle.y);
}

/** Moves the line of the pointer to a step, which is read then. */
function pointAt(plot, figure, step) {
  const { chart } = drawn.get(figure);
  const left = plot.valToPos((timeAt(chart, step) + timeAt(chart, step + 1)) / 2, "x");
  plot.setCursor({ left, top: plot.over.clientHeight / 2 });
}

/** Writes what the server writes for the last step: the time, each value, and the link to what happened then. */
function show(figure, step) {
  const reading = figure.querySelector(".reading");
  const chart = chartOf(figure);
  const at = Math.min(step, chart.count - 1);
  chosen.set(figure.id, at);
  const parts = chart.lines.flatMap((line, index) => {
    const link = document.createElement("a");
    link.href = hrefOf(chart, line, at);
    link.textContent = line.name === "" ? "See what happened" : line.name;
    if (line.name === "") return [`${line.said[at]}. `, link];
    return [link, ` ${line.said[at]}${index === chart.lines.length - 1 ? "" : ", "}`];
  });
  reading.replaceChildren(`${sayTime(timeAt(chart, at))}: `, ...parts);
  const slider = figure.querySelector("input");
  if (slider === null) return;
  slider.value = at;
  slider.setAttribute("aria-valuetext", reading.textContent);
}

function sayTime(seconds) {
  const timeZone = document.documentElement.dataset.zone ?? "UTC";
  return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" }).format(
    seconds * 1000,
  );
}

function hrefOf(chart, line, step) {
  const [from, to] = [step, step + 1].map((one) => new Date(timeAt(chart, one) * 1000).toISOString());
  return `${line.opens}&${new URLSearchParams({ from, to })}`;
}

function listenToClicks(plot, figure) {
  let pressedAt = null;
  plot.over.addEventListener("mousedown", ({ clientX }) => {
    pressedAt = clientX;
  });
  plot.over.addEventListener("click", (event) => {
    // A finger has no way to point first: it reads, and the link below opens.
    if (event.pointerType === "touch" || Math.abs(event.clientX - (pressedAt ?? 0)) >= CLICK_PX) return;
    const { chart } = drawn.get(figure);
    const box = plot.over.getBoundingClientRect();
    const step = stepAt(chart, plot.posToVal(event.clientX - box.left, "x"));
    const line = closestLine(plot, chart, step, event.clientY - box.top);
    location.assign(hrefOf(chart, line, step));
  });
}

function closestLine(plot, { lines }, step, top) {
  const away = (line) =>
    line.values[step] === null
      ? Number.POSITIVE_INFINITY
      : Math.abs(plot.valToPos(line.values[step], "y") - top);
  return lines.reduce((best, line) => (away(line) < away(best) ? line : best));
}

/** Opens the page of the range, at least an hour around what was drawn over. */
function openRange(figure, from, to) {
  const missing = Math.max(0, SHORTEST_S - (to - from)) / 2;
  const [first, last] = [
    Math.floor((from - missing) / QUARTER_S) * QUARTER_S,
    Math.ceil((to + missing) / QUARTER_S) * QUARTER_S,
  ];
  const url = new URL(figure.closest("[data-zoom]").dataset.zoom, location.href);
  url.searchParams.set("from", new Date(first * 1000).toISOString());
  url.searchParams.set("to", new Date(last * 1000).toISOString());
  location.assign(url);
}
