/** Keys: "/" leads to the search, and the key of a link opens it, except while somebody types. */

const TYPING = "input, select, textarea, [contenteditable]";

export function openByKeys() {
  document.addEventListener("keydown", (event) => {
    const { target, key, ctrlKey, metaKey, altKey, repeat, isComposing } = event;
    if (ctrlKey || metaKey || altKey || repeat || isComposing || target.closest?.(TYPING)) return;
    const search = document.querySelector("form[role=search] input");
    if (key === "/" && search !== null) {
      event.preventDefault();
      search.focus();
      return;
    }
    const links = [...document.querySelectorAll("a[data-key]")];
    const link = links.find((one) => one.dataset.key === key.toLowerCase());
    if (link === undefined) return;
    // The field that gets the focus must not get the key.
    event.preventDefault();
    // What was typed and not sent must not be lost.
    const typed = [...document.querySelectorAll("main textarea, main form[method=post] input[name]")].find(
      (field) => field.type !== "hidden" && field.value !== field.defaultValue,
    );
    if (typed === undefined) link.click();
    else typed.focus();
  });
}
