// Runs before the first paint, so that a remembered theme does not flash. The content policy allows no inline script.
const chosen = localStorage.getItem("theme");
if (chosen) document.documentElement.dataset.theme = chosen;
