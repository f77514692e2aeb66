/**
 * Runs in the browser: notes where the Tab key leads from the beginning of the page. @returns an object whose `report`
 * compares that with everything that a user can use
 */
(() => {
  const CONTROLS =
    'a[href], button, input:not([type="hidden"]), select, textarea, summary, [tabindex]:not([tabindex="-1"])';
  const root = document.documentElement;
  const reached = [];
  const unseen = [];

  const nameOf = (element) => {
    const said = (element.getAttribute("aria-label") ?? element.name ?? "") || element.textContent.trim();
    return `${element.tagName.toLowerCase()} ${said.replace(/\s+/g, " ").slice(0, 60)}`;
  };
  const isHidden = (element) =>
    element.disabled === true ||
    (element.closest("details:not([open])") !== null && element.closest("summary") === null) ||
    !element.checkVisibility({ visibilityProperty: true });
  /** Tab reaches one button of a group: the chosen one, or the first. */
  const isOtherOfGroup = (element) => {
    if (element.type !== "radio") return false;
    const group = [...document.querySelectorAll(`input[type="radio"][name="${element.name}"]`)].filter(
      (one) => one.form === element.form,
    );
    return element !== (group.find((one) => one.checked) ?? group[0]);
  };
  const scrolls = (element) => {
    const { overflowX, overflowY } = getComputedStyle(element);
    return (
      (/auto|scroll/.test(overflowX) && element.scrollWidth > element.clientWidth) ||
      (/auto|scroll/.test(overflowY) && element.scrollHeight > element.clientHeight)
    );
  };
  const isUsed = (element) =>
    (element.matches(CONTROLS) || (element.matches("body *") && scrolls(element))) &&
    !isHidden(element) &&
    !isOtherOfGroup(element);
  /** An outline, or the same on a part of a drawing. */
  const isMarked = (element) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    if (outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2) return true;
    return [...element.querySelectorAll("svg *, rect")].some(
      (part) => Number.parseFloat(getComputedStyle(part).strokeWidth) >= 3,
    );
  };

  document.addEventListener("focusin", ({ target }) => {
    reached.push(target);
    if (!isMarked(target)) unseen.push(`${nameOf(target)}: its focus is not seen`);
    const { width, height } = target.getBoundingClientRect();
    if (width === 0 || height === 0) unseen.push(`${nameOf(target)}: it has no place`);
  });

  return {
    /** The focus is at the beginning again, or has left the page. */
    isRound: () =>
      reached.length > 0 &&
      (document.activeElement === document.body || reached.indexOf(reached.at(-1)) < reached.length - 1),
    report: () => {
      const order = reached.filter((element, index) => reached.indexOf(element) === index);
      const used = [...root.querySelectorAll("body *")].filter(isUsed);
      const wrong = order.find((element, index) => {
        const next = order[index + 1];
        return (
          next !== undefined && !(element.compareDocumentPosition(next) & Node.DOCUMENT_POSITION_FOLLOWING)
        );
      });
      // Not twice: a window that gets the focus back says so of the element that had it.
      const stays = [-2, -3].every((index) => reached.at(index) === reached.at(-1));
      return [
        ...unseen,
        ...used
          .filter((element) => !order.includes(element))
          .map((element) => `${nameOf(element)}: it is not reached`),
        ...(wrong === undefined ? [] : [`${nameOf(wrong)}: the next one stands before it`]),
        ...(stays ? [`${nameOf(reached.at(-1))}: the focus stays there`] : []),
      ];
    },
    count: () => reached.length,
  };
})();
