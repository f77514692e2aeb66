/** Says how many rows are selected and how much money they are, and selects all that are shown. */

export function countSelected() {
  const update = () => {
    for (const form of document.querySelectorAll("form[data-select]")) {
      const boxes = [...form.querySelectorAll('input[type="checkbox"][name="id"]')];
      const checked = boxes.filter((box) => box.checked);
      const chosen = checked.length;
      const count = form.querySelector("[data-selected-count]");
      const everything = form.querySelector("input[data-all]:checked");
      if (count !== null) count.textContent = everything?.dataset.all ?? sayChosen(checked);
      const all = form.querySelector("input[data-select-all]");
      if (all !== null) {
        all.checked = chosen > 0 && chosen === boxes.length;
        all.indeterminate = chosen > 0 && chosen < boxes.length;
      }
    }
  };
  document.addEventListener("change", ({ target }) => {
    if (target.matches("input[data-select-all]")) {
      for (const box of target.form.querySelectorAll('input[type="checkbox"][name="id"]')) {
        box.checked = target.checked;
      }
    }
    update();
  });
  document.addEventListener("refreshed", update);
  update();
}

function sayChosen(boxes) {
  // Incidents have money in several currencies.
  if (boxes.every((box) => box.dataset.amount === undefined)) return `${boxes.length} selected`;
  const byCurrency = Map.groupBy(boxes, (box) => box.dataset.currency ?? "");
  const sums = [...byCurrency].map(([currency, those]) => {
    const sum = addDecimals(those.map((box) => box.dataset.amount ?? "0"));
    return `${sum} ${currency}`.trimEnd();
  });
  return `${boxes.length} selected: ${sums.join(" and ")}`;
}

/** Money is never a float: "0.1" and "0.20" are "0.30". */
function addDecimals(texts) {
  const decimals = Math.max(2, ...texts.map((text) => text.split(".")[1]?.length ?? 0));
  const units = texts.map((text) => {
    const [whole, fraction = ""] = text.split(".");
    return BigInt(whole + fraction.padEnd(decimals, "0"));
  });
  const digits = units
    .reduce((sum, one) => sum + one, 0n)
    .toString()
    .padStart(decimals + 1, "0");
  const whole = digits.slice(0, -decimals).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return `${whole}.${digits.slice(-decimals)}`;
}
