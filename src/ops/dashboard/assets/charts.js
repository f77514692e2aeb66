/** Reads the values of a chart: of the step under the pointer, or the one that its slider chooses. */

/** The ids of the charts that are being read, which a refresh of the page must not forget. */
const reading = new Set();

export function readCharts() {
  document.addEventListener("pointerover", ({ target }) => {
    const step = target.closest?.(".plot .step");
    if (!step) return;
    const plot = step.closest(".plot");
    plot.querySelector("input").value = stepsOf(plot).indexOf(step);
    show(plot);
  });
  for (const event of ["input", "focusin"]) {
    document.addEventListener(event, ({ target }) => {
      if (target.matches?.(".plot input")) show(target.closest(".plot"));
    });
  }
  document.addEventListener("refreshed", () => {
    for (const id of reading) show(document.getElementById(id));
  });
}

function stepsOf(plot) {
  return [...plot.querySelectorAll(".step")];
}

function show(plot) {
  const slider = plot?.querySelector("input");
  const step = slider && stepsOf(plot)[Number(slider.value)];
  if (!step) return;
  const words = step.querySelector("title").textContent;
  plot.querySelector(".step.chosen")?.classList.remove("chosen");
  step.classList.add("chosen");
  plot.querySelector(".reading").textContent = words;
  slider.setAttribute("aria-valuetext", words);
  reading.add(plot.id);
}
