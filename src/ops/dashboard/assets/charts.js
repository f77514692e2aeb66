/** Reads the values of a chart: of the step under the pointer, or the one that the arrow keys choose. */

const KEYS = { ArrowLeft: -1, ArrowRight: 1, Home: Number.NEGATIVE_INFINITY, End: Number.POSITIVE_INFINITY };

export function readCharts() {
  document.addEventListener("pointerover", ({ target }) => {
    const step = target.closest?.(".plot .step");
    if (step) show(step);
  });
  document.addEventListener("focusin", ({ target }) => {
    if (target.matches?.(".plot svg")) show(chosenOf(target) ?? stepsOf(target).at(-1));
  });
  document.addEventListener("refreshed", () => {
    for (const [id, step] of chosen) show(document.getElementById(id)?.querySelectorAll(".step")[step]);
  });
  document.addEventListener("keydown", (event) => {
    const by = KEYS[event.key];
    if (by === undefined || !event.target.matches?.(".plot svg")) return;
    event.preventDefault();
    const steps = stepsOf(event.target);
    const next = steps.indexOf(chosenOf(event.target)) + by;
    show(steps[Math.min(Math.max(next, 0), steps.length - 1)]);
  });
}

/** The chosen step of each chart, which a refresh of the page must not take away. */
const chosen = new Map();

function stepsOf(svg) {
  return [...svg.querySelectorAll(".step")];
}

function chosenOf(svg) {
  return svg.querySelector(".step.chosen");
}

function show(step) {
  if (!step) return;
  const plot = step.closest(".plot");
  plot.querySelector(".step.chosen")?.classList.remove("chosen");
  step.classList.add("chosen");
  plot.querySelector(".reading").textContent = step.querySelector("title").textContent;
  chosen.set(plot.id, stepsOf(plot).indexOf(step));
}
