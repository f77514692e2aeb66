/**
 * Evaluates to the targets that are too small for a finger: under 24 px in a direction, and with another target within 12 px of
 * their centre, or with the centre of another such target within 24 px (WCAG 2.2, 2.5.8). Links in running text are exempt, and
 * so are the links of a strip of time, whose width is their duration.
 */
(() => {
  const isInText = (link) =>
    [...link.parentNode.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && /[\p{L}\d]{2}/u.test(node.textContent),
    );
  const targets = [
    ...document.querySelectorAll(
      "a[href]:not(svg a), button, input:not([type=hidden]), select, textarea, summary",
    ),
  ]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }))
    .map((one) => ({
      one,
      box: (one.closest("label")?.querySelector("[type=checkbox]")
        ? one.closest("label")
        : one
      ).getBoundingClientRect(),
    }))
    .filter(({ box }) => box.width > 1 && box.height > 1);
  const centre = ({ box }) => [box.x + box.width / 2, box.y + box.height / 2];
  const isSmall = ({ box }) => box.width < 23.5 || box.height < 23.5;
  const isCrowded = (own) =>
    targets.some((other) => {
      if (other.one === own.one || other.one.contains(own.one) || own.one.contains(other.one)) return false;
      const [x, y] = centre(own);
      const { box } = other;
      const dx = Math.max(box.left - x, 0, x - box.right);
      const dy = Math.max(box.top - y, 0, y - box.bottom);
      const [otherX, otherY] = centre(other);
      return Math.hypot(dx, dy) < 12 || (isSmall(other) && Math.hypot(otherX - x, otherY - y) < 24);
    });
  return targets
    .filter((own) => isSmall(own) && !(own.one.tagName === "A" && isInText(own.one)) && isCrowded(own))
    .map(
      ({ one, box }) =>
        `${one.tagName} "${(one.textContent || one.name || "").trim().slice(0, 40)}" in ${one.parentElement.tagName}.${one.parentElement.className}: ${Math.round(box.width)}×${Math.round(box.height)}`,
    );
})();
