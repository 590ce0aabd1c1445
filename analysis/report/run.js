// One run: its curve, its results, the origin of its numbers, and the command that makes it.
"use strict";

const SECTIONS = { summary: "What it came to", ended: "How it ended", settings: "Settings", provenance: "Where its numbers come from" };

function showRun(at, { runs, curves, films, style }) {
  const [run, status, activation, benchmark] = runs.columns.slice(0, 4).map((column) => valueOf(column, at));
  document.getElementById("run-title").textContent = `${activation} · ${benchmark} · ${run}`;
  document.getElementById("run-status").textContent = status;
  const words = runs.words[at].map((place) => runs.vocabulary[place]);
  document.getElementById("run-command").textContent = ["python -m plasticity_lab.main", ...words.map(quoted)].join(" ");
  const told = document.getElementById("run-told");
  told.replaceChildren(...Object.entries(SECTIONS).flatMap(([name, title]) => section(title, linesOf(runs, name, at))));
  document.getElementById("run").showModal();
  drawRun(at, curves, style);
  showFilm(films[at]);
}

// A test episode after the last task, as a GIF in base64; undefined for most runs.
function showFilm(film) {
  const place = document.getElementById("run-film");
  place.replaceChildren();
  if (!film) return;
  const shown = document.createElement("img");
  shown.src = `data:image/gif;base64,${film}`;
  shown.alt = "A test episode after the last task";
  place.append(shown);
}

// Quotes a word, so that a POSIX shell reads it as one word.
function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

function linesOf(runs, section, at) {
  const lines = Object.entries(runs.told[section]).map(([name, column]) => [name, valueOf(column, at)]);
  return lines
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => (section === "summary" ? inUnit(runs.measures[name], name, value) : [name, inWords(value)]));
}

function inUnit(measure, name, value) {
  if (!measure) return [name, String(value)];
  return [measure.title, `${inPlaces(value * measure.scale, measure.places)}\u00a0${measure.unit}`];
}

function inWords(value) {
  if (value !== null && typeof value === "object" && !Array.isArray(value))
    return Object.entries(value).map(([name, of]) => `${name} ${inWords(of)}`).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function section(title, lines) {
  if (!lines.length) return [];
  const whole = document.createElement("div");
  const heading = document.createElement("h3");
  heading.textContent = title;
  const table = document.createElement("table");
  for (const line of lines) {
    const row = table.insertRow();
    for (const words of line) row.insertCell().textContent = words;
  }
  whole.append(heading, table);
  return [whole];
}

function drawRun(at, curves, style) {
  const place = document.getElementById("run-curves");
  place.replaceChildren();
  const panels = curves.panels.filter((panel) => panel.lines[at]);
  document.getElementById("run-points").textContent = panels.length
    ? `At most ${curves.points} points a curve, each the mean around it; python -m launch show draws all.`
    : "There is no curve: the run has not ended, it failed, or its metrics are damaged.";
  // Add all elements first, because their widths depend on their number.
  const charts = panels.map(() => place.appendChild(document.createElement("div")));
  for (const [number, panel] of panels.entries()) {
    const chart = charts[number];
    const lines = panel.lines[at];
    const traces = lines.map((line, place) => ({
      ...curveTrace(panel, line),
      line: { color: style.colours[place % style.colours.length] },
      marker: { size: 4 },
    }));
    plot(chart, traces, curveLayout(panel, style, 240, lines.length > 1));
  }
}

function curveTrace(panel, [name, x, y]) {
  return {
    x,
    y,
    name: escaped(name),
    mode: "lines+markers",
    hovertemplate: `${escaped(panel.x)} %{x:,.6~g}<br>${escaped(panel.y)}: %{y:.5~g}<extra>${escaped(name)}</extra>`,
  };
}

function curveLayout(panel, style, height, showlegend) {
  const axis = { gridcolor: style.grid, zeroline: false };
  return {
    ...style.layout,
    height,
    title: { text: escaped(panel.y), x: 0, xref: "paper", font: { size: 12 } },
    xaxis: { ...axis, title: { text: escaped(panel.x) } },
    yaxis: axis,
    showlegend,
  };
}
