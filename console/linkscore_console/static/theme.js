// Colours before anything is drawn: as the system says, unless the reader chose.
"use strict";
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("linkscore-theme"); } catch { /* storage may be off */ }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
