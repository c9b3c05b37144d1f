// Keeps the progress of a running replay up to date. Without scripts the page reloads instead.
"use strict";
const part = document.getElementById("replay-part");
const percent = (share) => (100 * share).toFixed(1) + "%";

async function look() {
  let state;
  try {
    const answer = await fetch(part.dataset.state, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(answer.status);
    state = await answer.json();
  } catch {
    setTimeout(look, 3000);
    return;
  }
  if (!state.running) {
    location.reload();
    return;
  }
  const at = state.progress;
  if (at) {
    const bar = document.getElementById("bar");
    bar.max = at.planned;
    bar.value = at.submissions;
    document.getElementById("bar-text").textContent =
      at.submissions.toLocaleString("en") + " of " + at.planned.toLocaleString("en") + " submissions";
    const now = document.getElementById("now");
    const told =
      "Labels guessed correctly: " + percent(at.recovered) + "; from the features alone: " + percent(at.baseline) + ".";
    if (now.textContent !== told) now.textContent = told; // what is the same is not read out again
  }
  setTimeout(look, 1000);
}

if (part && part.dataset.state) setTimeout(look, 500);
