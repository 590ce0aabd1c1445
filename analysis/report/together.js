// Runs drawn over each other: the filtered runs, or the runs in the page's address.
"use strict";

const MOST_TOGETHER = 21; // the number of distinct line styles
const A_NAME = 28; // pixels of a name in a legend next to a chart
const LINES = ["solid", "dash", "dot"];

// ats: the runs to draw. all: the number of runs before the limit.
function drawTogether(ats, all, { runs, curves, style }) {
  const place = document.getElementById("together");
  const shown = ats.slice(0, MOST_TOGETHER);
  const panels = curves.panels.filter((panel) => shown.some((at) => panel.lines[at]));
  document.getElementById("together-said").textContent = !panels.length
    ? "None of these runs has a curve: they have not ended, failed, or their metrics are damaged."
    : all > shown.length ? `The first ${shown.length} of ${all.toLocaleString("en")} runs; a filter chooses others.` : "";
  const charts = panels.map(() => place.appendChild(document.createElement("div")));
  place.replaceChildren(...charts);
  for (const [number, panel] of panels.entries()) {
    const names = namesOf(shown.filter((at) => panel.lines[at]), runs.columns);
    const traces = shown.flatMap((at, look) => {
      const line = { color: style.colours[look % style.colours.length], dash: LINES[Math.floor(look / style.colours.length)] };
      const lines = panel.lines[at] || [];
      return lines.map(([name, x, y], part) => ({
        ...curveTrace(panel, [[names.get(at), name].filter(Boolean).join(", "), x, y]),
        line,
        marker: { size: 4, color: line.color },
        legendgroup: String(look),
        showlegend: part === 0 || Boolean(name),
      }));
    });
    plot(charts[number], traces, curveLayout(panel, style, Math.max(340, A_NAME * (names.size + 2)), true));
  }
}

// Run → its name: the choices and settings that differ between the runs, without results.
function namesOf(ats, columns) {
  const asked = columns.slice(2).filter(({ places }) => places === undefined);
  const differing = asked.filter((column) => new Set(ats.map((at) => column.codes[at])).size > 1);
  const [runs] = columns;
  const nameOf = (at) => {
    const words = differing.map((column) => {
      const value = valueOf(column, at);
      if (value === null || value === undefined) return "";
      return typeof value === "string" ? value : `${column.title.split(".").at(-1)}=${inWords(value)}`;
    });
    return words.filter(Boolean).join(" · ") || valueOf(runs, at);
  };
  return new Map(ats.map((at) => [at, nameOf(at)]));
}

// Draws the runs in the page's address: #together=<id>,<id>.
function followTogether(table, data) {
  const ids = data.runs.columns[0];
  let all = 0;
  const follow = () => {
    const [, words] = location.hash.match(/^#together=(.+)$/) || [];
    if (!words) return;
    const wanted = words.split(",").map((id) => ids.codes.findIndex((code) => ids.values[code] === id));
    const ats = wanted.filter((at) => at >= 0);
    drawTogether(ats, Math.max(all, ats.length), data);
    all = 0;
    document.getElementById("together").scrollIntoView({ block: "center" });
  };
  document.getElementById("draw-together").addEventListener("click", () => {
    const ats = table.rows({ search: "applied" }).data().toArray().map((line) => line.at(-1));
    all = ats.length;
    location.hash = `together=${ats.slice(0, MOST_TOGETHER).map((at) => valueOf(ids, at)).join(",")}`;
  });
  window.addEventListener("hashchange", follow);
  follow();
}
