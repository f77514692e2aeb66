/**
 * Runs in the browser: finds everything on the page that leaves its place, is cut off without its full text, or runs
 * together. @returns one line for each finding
 */
(() => {
  const SLACK = 1.5;
  const found = new Set();
  const root = document.documentElement;

  const nameOf = (element) => {
    const id = element.id === "" ? "" : `#${element.id}`;
    const classes = [...element.classList].map((one) => `.${one}`).join("");
    return `${element.tagName.toLowerCase()}${id}${classes}`;
  };
  const pathOf = (element) => {
    const names = [];
    for (let at = element; at !== null && at !== document.body && names.length < 4; at = at.parentElement) {
      names.unshift(nameOf(at));
    }
    return names.join(" > ");
  };
  // Charts take their new width when a frame is drawn, and nothing draws these pages; test/dashboard/trends.test.ts measures them.
  const isUnseen = (element) =>
    element.closest(".uplot, .hidden, .skip, .patterns, datalist, option, script, [hidden]") !== null ||
    (element.closest("details:not([open])") !== null && element.closest("summary") === null) ||
    !element.checkVisibility();
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const scrollerOf = (element) => {
    for (let at = element.parentElement; at !== null && at !== root; at = at.parentElement) {
      if (at !== document.body && scrolls(at)) return at;
    }
    return null;
  };
  /** The box in which an element's content must stay. */
  const boxOf = (element) => {
    let at = element;
    while (/^(inline|contents)$/.test(getComputedStyle(at).display) && at.parentElement !== null) {
      at = at.parentElement;
    }
    return at;
  };

  if (root.scrollWidth > root.clientWidth) {
    found.add(`the page is ${root.scrollWidth - root.clientWidth} px wider than the window`);
  }
  const texts = [];
  for (const element of document.body.querySelectorAll("*")) {
    if (isUnseen(element)) continue;
    const style = getComputedStyle(element);
    const isDrawn = element.closest("svg") !== null;
    if (isDrawn && element.tagName !== "svg" && element.tagName !== "text") continue;
    const rect = element.getBoundingClientRect();
    if (rect.width === 0 || rect.height === 0) continue;
    const scroller = scrollerOf(element);
    if (scroller === null && (rect.right > root.clientWidth + SLACK || rect.left < -SLACK)) {
      found.add(
        `${pathOf(element)} leaves the window (${Math.round(rect.left)} to ${Math.round(rect.right)})`,
      );
    }
    if (
      element.parentElement !== document.body &&
      style.display !== "inline" &&
      !/absolute|fixed|sticky/.test(style.position)
    ) {
      const parent = boxOf(element.parentElement);
      const place = parent.getBoundingClientRect();
      const isOut = rect.right > place.right + SLACK || rect.left < place.left - SLACK;
      if (isOut && !scrolls(parent) && parent !== document.body) {
        found.add(
          `${pathOf(element)} leaves ${nameOf(parent)} by ${Math.round(Math.max(rect.right - place.right, place.left - rect.left))} px`,
        );
      }
    }
    if (scrolls(element) && element.scrollWidth > element.clientWidth + SLACK) {
      const name = element.getAttribute("aria-label") ?? element.getAttribute("aria-labelledby") ?? "";
      if (element.tabIndex < 0 || name === "") {
        found.add(`${pathOf(element)} scrolls, and the keyboard does not reach it, or it has no name`);
      }
    }
    const isCut =
      /hidden|clip/.test(style.overflowX + style.overflowY) &&
      (element.scrollWidth > element.clientWidth + SLACK ||
        element.scrollHeight > element.clientHeight + SLACK);
    if (isCut && !isDrawn && (element.title || "") !== element.textContent) {
      found.add(`${pathOf(element)} is cut off, and its title is not the full text`);
    }
    for (const node of element.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || node.data.trim() === "" || style.clipPath !== "none") continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const rects = [...range.getClientRects()].filter(({ width, height }) => width > 0.5 && height > 0.5);
      const text = node.data;
      const place = boxOf(element).getBoundingClientRect();
      const isOut = rects.some(({ left, right }) => right > place.right + SLACK || left < place.left - SLACK);
      if (isOut && !isDrawn && !isCut && !scrolls(boxOf(element))) {
        found.add(`the text "${text.trim().slice(0, 40)}" leaves ${pathOf(boxOf(element))}`);
      }
      if (!isCut && !(style.overflowX === "hidden")) texts.push({ element, text, rects });
    }
  }
  // Texts that follow each other in one line without anything between them.
  for (const [index, { element, text, rects }] of texts.entries()) {
    const next = texts[index + 1];
    const [last, first] = [rects.at(-1), next?.rects[0]];
    if (last === undefined || first === undefined) continue;
    const isOneLine = Math.abs(last.bottom - first.bottom) < last.height / 2;
    const isClose = first.left >= last.left && first.left - last.right < 1.5;
    const isGlued = /[\p{L}\p{N}]$/u.test(text) && /^[\p{L}\p{N}]/u.test(next.text);
    if (isOneLine && isClose && isGlued) {
      found.add(
        `"${text.slice(-20)}" and "${next.text.slice(0, 20)}" run together in ${pathOf(element.parentElement)}`,
      );
    }
  }
  const boxes = texts
    .flatMap(({ element, text, rects }) => rects.map((rect) => ({ element, text, rect })))
    .filter(({ element }) => scrollerOf(element) === null && element.closest(".acting") === null)
    .sort((a, b) => a.rect.top - b.rect.top);
  for (const [index, one] of boxes.entries()) {
    for (let other = index + 1; other < boxes.length; other += 1) {
      const two = boxes[other];
      if (two.rect.top >= one.rect.bottom) break;
      if (
        one.element === two.element ||
        one.element.contains(two.element) ||
        two.element.contains(one.element)
      )
        continue;
      const across = Math.min(one.rect.right, two.rect.right) - Math.max(one.rect.left, two.rect.left);
      const down = Math.min(one.rect.bottom, two.rect.bottom) - Math.max(one.rect.top, two.rect.top);
      if (across > 2 && down > 0.4 * Math.min(one.rect.height, two.rect.height)) {
        found.add(
          `"${one.text.trim().slice(0, 20)}" and "${two.text.trim().slice(0, 20)}" lie on each other in ${pathOf(two.element)}`,
        );
      }
    }
  }
  return [...found].slice(0, 20);
})();
